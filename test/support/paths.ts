/** The paths of the operations, as in the interface document. */
export const PATHS = {
  orderUpdate: '/orders-update-api/supported-values',
  orderCaptureV2: '/orders-api-v2/v2/supported-values',
  communicationCodes: '/order-scheduling/communication-codes',
} as const;
/** In the order of AREAS, then the communication codes: tests compare lists with it. */
export const ALL_PATHS = Object.values(PATHS);
