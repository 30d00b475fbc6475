-- Up Migration

insert into communication_code (code_type, code, description) values
  ('APPOINTMENT', 'CONFIRMED', 'The consumer confirmed the appointment'),
  ('APPOINTMENT', 'DECLINED', 'The consumer declined the appointment');

-- Down Migration

delete from communication_code where code_type = 'APPOINTMENT' and code in ('CONFIRMED', 'DECLINED');
