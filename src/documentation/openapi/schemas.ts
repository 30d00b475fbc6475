import * as limits from '../../problems/limits.js';

/** What the constraints of the tables allow: not empty, no white space around it. */
const clean = { type: 'string', minLength: 1, pattern: String.raw`^\S(.*\S)?$` };
const code = { ...clean, maxLength: limits.MAX_CODE_CHARACTERS };
const text = (description: string, maxLength = 1_024, more: object = {}) => {
  return { type: 'string', description, maxLength, ...more };
};
const REFERENCE = { format: 'uri-reference' };
const record = (required: object, optional: object = {}): object => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
});

/** The lists of the interface document. They are examples, not closed enumerations: a new code must not break a compiled client. */
const COMMON: Readonly<Record<string, readonly string[]>> = {
  preferredContactMethod: ['Phone', 'Email', 'Text'],
  stopReason: ['Pickup', 'Delivery', 'PickupAndDelivery'],
  phoneNumberType: ['Home', 'Mobile', 'Office'],
  orderType: ['Standard', 'Return'],
  orderSubtype: ['WillCall', 'Inventory', 'Fulfillment', 'Exchange'],
  equipmentType: ['DryVan', 'FlatBed', 'Refrigerated', 'Container', 'Tanker'],
  transportationMode: ['Truck', 'Rail', 'Ocean', 'LTL', 'Parcel', 'Best'],
  densityUnitOfMeasure: ['Pounds Per Cubic Foot'],
  volumeUnitOfMeasure: ['Cubic Feet'],
  lengthUnitOfMeasure: ['Inches', 'Feet', 'Centimeters', 'Meters'],
  weightUnitOfMeasure: ['Pounds', 'Kilograms'],
  quantityUnitOfMeasure: ['Pallets', 'Pieces', 'Cases', 'Totes', 'Bins', 'Slips'],
  temperatureUnitOfMeasurement: ['Fahrenheit'],
  productClassification: ['Major', 'Minor'],
  networkFlows: ['LDC Direct', 'RDC Flow Through'],
  consumerClassification: 'Home Delivery,Builder Direct,Builder Indirect,Retail,Return'.split(','),
  partyContactType: ['General', 'Information', 'Mutually Defined'],
  orderStatus: ['Pending', 'On Hold'],
  partyType: ['Solicitor'],
  itemServiceTypes: ['Uncrate'],
};

const arrays = { type: 'array', items: code };
const supportedValues = (lists: typeof COMMON): object => ({
  ...record(Object.fromEntries(Object.keys(lists).map((name) => [name, arrays]))),
  description:
    'Each property is a kind of code, each string an allowed value. A kind with no values left is an empty array.',
  additionalProperties: arrays,
  example: lists,
});

export const schemas: Record<string, object> = {
  OrderUpdateSupportedValues: supportedValues({
    commentType: ['General', 'BOL', 'Consumer', 'Appt', 'Appointment'],
    ...COMMON,
  }),
  OrderCaptureSupportedValues: supportedValues({
    commentTypeCodes: ['General', 'Consumer', 'Appointment', 'BOL'],
    ...COMMON,
  }),
  CommunicationCodeRecord: {
    ...record({
      codeType: { ...code, description: 'Code type of the record; defines its usage category.' },
      code: { ...code, description: 'Code of the record.' },
      description: text('Description of the code.', limits.MAX_DESCRIPTION_CHARACTERS, clean),
    }),
    example: {
      codeType: 'SAMPLE-APPOINTMENT',
      code: 'CONFIRMED',
      description: 'Sample: the consumer confirmed the appointment',
    },
  },
  CommunicationCodeQueryResponse: record({
    communicationRecords: {
      type: 'array',
      description:
        'Result set of communication records, sorted by code type and code in code-point order. Empty where none matches.',
      items: { $ref: '#/components/schemas/CommunicationCodeRecord' },
    },
  }),
  ProblemDetails: record(
    {
      type: text('Identifies the problem type. The address explains it.', 2_048, REFERENCE),
      title: text('Summary; the same for each occurrence of the type.', 128),
      status: { type: 'integer', format: 'int32', minimum: 100, maximum: 599 },
      detail: text('What happened in this occurrence.'),
      instance: text('urn:uuid of the request, as in X-Request-Id and in our log.', 45, REFERENCE),
      dateTime: text('When the problem occurred (RFC 3339).', 24, { format: 'date-time' }),
    },
    {
      issues: {
        type: 'array',
        maxItems: limits.MAX_ISSUES,
        items: { $ref: '#/components/schemas/Issue' },
        description: `Every fault of the request, ${limits.MAX_ISSUES} at most. Left out where there is none.`,
      },
    },
  ),
  Issue: record(
    {
      description: text('What is wrong, and how to correct it.'),
      field: text('Name of the field; a JSON Pointer in a body.', limits.MAX_SHOWN_CHARACTERS),
      location: { type: 'string', enum: ['body', 'header', 'path', 'query'], default: 'body' },
    },
    { value: text('What was sent, shortened. Never a credential.', limits.MAX_SHOWN_CHARACTERS) },
  ),
};
