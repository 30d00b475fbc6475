-- Up Migration

insert into code_list_value (code_list, value) values ('orderType', 'Transfer');

-- Down Migration

delete from code_list_value where code_list = 'orderType' and value = 'Transfer';
