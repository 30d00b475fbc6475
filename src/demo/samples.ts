/** The interface document names no communication codes, so the demo loads samples that say so. */
export const SAMPLES = `
  insert into communication_code (code_type, code, description) values
    ('SAMPLE-APPOINTMENT', 'CONFIRMED', 'Sample: the consumer confirmed the appointment'),
    ('SAMPLE-APPOINTMENT', 'LEFT-MESSAGE', 'Sample: a message was left, the appointment is open'),
    ('SAMPLE-APPOINTMENT', 'NO-ANSWER', 'Sample: nobody answered the call'),
    ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
    ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day'),
    ('SAMPLE-USAGE', 'EMAIL', 'Sample: the code is used in messages by email')
  on conflict do nothing`;

/** At each start it begins anew. */
export const BEGINS_SOON = `
  insert into communication_code (code_type, code, description, valid_from) values
    ('SAMPLE-APPOINTMENT', 'BEGINS-SOON', 'Sample: began a few minutes after the start of the demo', date_trunc('minute', now()) + interval '4 minutes')
  on conflict (code_type, code) do update set valid_from = excluded.valid_from
  returning valid_from`;
