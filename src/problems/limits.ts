// The limits that callers meet: what checks them, the problem types, the OpenAPI document and the tests take them from here.

/** Bytes of the request target. */
export const MAX_TARGET_BYTES = 8_000;
/** Bytes of all header lines together, with their separators. */
export const MAX_HEADER_BYTES = 16 * 1024;
export const MAX_HEADERS = 100;
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 15_000;
/** Characters of a filter, which has at least one. */
export const MAX_FILTER_CHARACTERS = 256;
/** Issues of a problem document. */
export const MAX_ISSUES = 20;
/** Longest piece of what was sent that an issue shows. */
export const MAX_SHOWN_CHARACTERS = 256;

/** The same in words. */
export const LIMITS = {
  target: `${MAX_TARGET_BYTES.toLocaleString('en')} bytes`,
  headers: `${MAX_HEADER_BYTES / 1024} KiB`,
  headerLines: `${MAX_HEADERS} lines`,
  filter: `${MAX_FILTER_CHARACTERS} characters`,
} as const;
