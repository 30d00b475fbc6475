-- Up Migration

update code_list_value set value = 'Flatbed' where code_list = 'equipmentType' and value = 'FlatBed';
delete from code_list_value where code_list = 'transportationMode' and value = 'Best';

-- Down Migration

insert into code_list_value (code_list, value) values ('transportationMode', 'Best');
update code_list_value set value = 'FlatBed' where code_list = 'equipmentType' and value = 'Flatbed';
