/** The paths of the operations, as in the interface document. */
export const PATHS = {
  orderUpdate: '/orders-update-api/supported-values',
  orderCaptureV2: '/orders-api-v2/v2/supported-values',
  communicationCodes: '/order-scheduling/communication-codes',
} as const;
/** The paths of AREAS in their order, and then the path of the communication codes. Tests rely on this order. */
export const ALL_PATHS = Object.values(PATHS);
