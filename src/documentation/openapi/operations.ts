import { FILTERS } from '../../codes/filters.js';
import { MAX_FILTER_CHARACTERS } from '../../problems/limits.js';

/** The paths of the three operations, as the interface document has them. A test keeps them equal to those of the controllers. */
export const PATHS = {
  orderUpdate: '/orders-update-api/supported-values',
  orderCaptureV2: '/orders-api-v2/v2/supported-values',
  communicationCodes: '/order-scheduling/communication-codes',
} as const;

interface Operation {
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  /** The description of the tag. */
  readonly about: string;
  readonly summary: string;
  readonly description: string;
  /** The description of 200 in the interface document. */
  readonly ok: string;
  /** The name of its schema. */
  readonly schema: string;
  readonly parameters: readonly object[];
}

export const OPERATIONS: readonly Operation[] = [
  {
    path: PATHS.orderUpdate,
    operationId: 'getOrderUpdateSupportedValues',
    tag: 'order update',
    about: 'Supported values of the order update area',
    summary: 'Get supported values (order update area)',
    description:
      'Returns the valid type codes and enumerated values accepted by the order update interface.',
    ok: 'Valid codes supported by this API',
    schema: 'OrderUpdateSupportedValues',
    parameters: [],
  },
  {
    path: PATHS.orderCaptureV2,
    operationId: 'getOrderCaptureSupportedValues',
    tag: 'order capture',
    about: 'Supported values of the order capture area, version 2',
    summary: 'Get supported values (order capture area, version 2)',
    description:
      'Returns the valid type codes and enumerated values for the order capture interface.',
    ok: 'Supported values retrieved',
    schema: 'OrderCaptureSupportedValues',
    parameters: [],
  },
  {
    path: PATHS.communicationCodes,
    operationId: 'listCommunicationCodes',
    tag: 'order scheduling',
    about: 'Communication codes of the order scheduling area',
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
      schema: { type: 'string', minLength: 1, maxLength: MAX_FILTER_CHARACTERS },
    })),
  },
];
