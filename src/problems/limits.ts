// The limits for callers. The checks, the problem types, the OpenAPI document and the tests use these values.

export const MAX_TARGET_BYTES = 8_000;
/** Of all header lines together, with their separators. */
export const MAX_HEADER_BYTES = 16 * 1024;
export const MAX_HEADERS = 100;
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 12_000;
/** Longest name, value, code or filter, as the constraints of the tables have it. */
export const MAX_CODE_CHARACTERS = 256;
export const MAX_DESCRIPTION_CHARACTERS = 1_024;
export const MAX_ISSUES = 20;
/** Longest part of a value that an issue shows. */
export const MAX_SHOWN_CHARACTERS = 256;

export const LIMITS = {
  target: `${MAX_TARGET_BYTES.toLocaleString('en')} bytes`,
  headers: `${MAX_HEADER_BYTES / 1024} KiB`,
  headerLines: `${MAX_HEADERS} lines`,
  filter: `${MAX_CODE_CHARACTERS} characters`,
} as const;
