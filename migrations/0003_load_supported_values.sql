-- Up Migration

-- The supported values of the interface document, in the order of the answers. A list that both areas return is stored once.
create table document as
  select list, list_values, row_number() over () as place from (values
    ('commentType', array['General', 'BOL', 'Consumer', 'Appt', 'Appointment']),
    ('commentTypeCodes', array['General', 'Consumer', 'Appointment', 'BOL']),
    ('preferredContactMethod', array['Phone', 'Email', 'Text']),
    ('stopReason', array['Pickup', 'Delivery', 'PickupAndDelivery']),
    ('phoneNumberType', array['Home', 'Mobile', 'Office']),
    ('orderType', array['Standard', 'Return']),
    ('orderSubtype', array['WillCall', 'Inventory', 'Fulfillment', 'Exchange']),
    ('equipmentType', array['DryVan', 'FlatBed', 'Refrigerated', 'Container', 'Tanker']),
    ('transportationMode', array['Truck', 'Rail', 'Ocean', 'LTL', 'Parcel', 'Best']),
    ('densityUnitOfMeasure', array['Pounds Per Cubic Foot']),
    ('volumeUnitOfMeasure', array['Cubic Feet']),
    ('lengthUnitOfMeasure', array['Inches', 'Feet', 'Centimeters', 'Meters']),
    ('weightUnitOfMeasure', array['Pounds', 'Kilograms']),
    ('quantityUnitOfMeasure', array['Pallets', 'Pieces', 'Cases', 'Totes', 'Bins', 'Slips']),
    ('temperatureUnitOfMeasurement', array['Fahrenheit']),
    ('productClassification', array['Major', 'Minor']),
    ('networkFlows', array['LDC Direct', 'RDC Flow Through']),
    ('consumerClassification', array['Home Delivery', 'Builder Direct', 'Builder Indirect', 'Retail', 'Return']),
    ('partyContactType', array['General', 'Information', 'Mutually Defined']),
    ('orderStatus', array['Pending', 'On Hold']),
    ('partyType', array['Solicitor']),
    ('itemServiceTypes', array['Uncrate'])
  ) as lists (list, list_values);

insert into code_list (name) select list from document order by place;

insert into code_list_value (code_list, value, position)
select list, value, position from document, unnest(list_values) with ordinality as v (value, position) order by place, position;

-- The areas have the same properties, except for the first
insert into area_property (area, property, position, code_list)
select area, list, row_number() over (partition by area order by place), list
from document, unnest(array['order-update', 'order-capture-v2']) as area
where (area, list) not in (('order-update', 'commentTypeCodes'), ('order-capture-v2', 'commentType'))
order by area desc, place;

drop table document;

-- Down Migration

delete from area_property;
delete from code_list;
