import { FILTERS } from '../../lookups/filters.js';
import { MAX_CODE_CHARACTERS } from '../../problems/limits.js';

/** The three operations, as the interface document has them; `ok` describes 200, `schema` names its body. */
export const OPERATIONS = [
  {
    path: '/orders-update-api/supported-values',
    operationId: 'getOrderUpdateSupportedValues',
    area: 'order update',
    summary: 'Get supported values (order update area)',
    description:
      'Returns the valid type codes and enumerated values accepted by the order update interface.',
    ok: 'Valid codes supported by this API',
    schema: 'OrderUpdateSupportedValues',
    parameters: [] as object[],
  },
  {
    path: '/orders-api-v2/v2/supported-values',
    operationId: 'getOrderCaptureSupportedValues',
    area: 'order capture',
    summary: 'Get supported values (order capture area, version 2)',
    description:
      'Returns the valid type codes and enumerated values for the order capture interface.',
    ok: 'Supported values retrieved',
    schema: 'OrderCaptureSupportedValues',
    parameters: [] as object[],
  },
  {
    path: '/order-scheduling/communication-codes',
    operationId: 'listCommunicationCodes',
    area: 'order scheduling',
    summary: 'List communication code records',
    description:
      'Returns status and usage code records for communication functions, optionally filtered by code type and code.',
    ok: 'The records that match; none is an empty list',
    schema: 'CommunicationCodeQueryResponse',
    parameters: Object.entries(FILTERS).map(([name, description]) => ({
      name,
      in: 'query',
      required: false,
      description,
      schema: { type: 'string', minLength: 1, maxLength: MAX_CODE_CHARACTERS },
    })),
  },
];
