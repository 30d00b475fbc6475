/** A Retry-After field of `seconds` and up to half as much again, so that callers do not all come back at once. */
export const retryAfter = (seconds: number): string[] => [
  'Retry-After',
  String(Math.ceil(seconds * (1 + Math.random() / 2))),
];
