import { MAX_CODE_CHARACTERS } from '../../problems/limits.js';

/** Matches what the constraints of the tables allow: not empty, no white space around it. */
export const CLEAN = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_CODE_CHARACTERS,
  pattern: String.raw`^\S(.*\S)?$`,
} as const;

/** The lists of the interface document. They are examples, not closed enumerations: a new code must not break a compiled client. */
const COMMON: Record<string, string[]> = {
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
  consumerClassification: [
    'Home Delivery',
    'Builder Direct',
    'Builder Indirect',
    'Retail',
    'Return',
  ],
  partyContactType: ['General', 'Information', 'Mutually Defined'],
  orderStatus: ['Pending', 'On Hold'],
  partyType: ['Solicitor'],
  itemServiceTypes: ['Uncrate'],
};

/** Schema of a Supported Values object; `commentProperty` is the one property that differs between the areas. */
export function supportedValuesSchema(commentProperty: string, comments: string[]): object {
  const lists = { [commentProperty]: comments, ...COMMON };
  return {
    type: 'object',
    description:
      'Each property is a kind of code, each string an allowed value. A kind with no values left is an empty array.',
    required: Object.keys(lists),
    properties: Object.fromEntries(
      Object.entries(lists).map(([name, values]) => [
        name,
        { type: 'array', items: CLEAN, examples: [values] },
      ]),
    ),
    additionalProperties: { type: 'array', items: CLEAN },
    example: lists,
  };
}
