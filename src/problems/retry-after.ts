/** A Retry-After field of `seconds` plus a random part of up to half, so that callers do not all return at the same time. */
export const retryAfter = (seconds: number): string[] => [
  'Retry-After',
  String(Math.ceil(seconds * (1 + Math.random() / 2))),
];
