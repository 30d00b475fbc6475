// Limits for requests. openapi.yaml repeats them. A test compares all of them, except MAX_SHOWN_CHARACTERS.

/** The largest size of request target and headers together, as Node.js's parser counts it. */
export const MAX_HEADER_BYTES = 16 * 1024;
export const HEADERS_TIMEOUT_MS = 10_000;
/** The time in which the whole request must arrive, with its body. */
export const REQUEST_TIMEOUT_MS = 12_000;
/** The length of a filter in code points. The database refuses longer codes, so a longer filter would find nothing. */
export const MAX_FILTER_CHARACTERS = 256;
/** The number of faults (issues) that one problem document lists. */
export const MAX_ISSUES = 20;
/** The number of UTF-16 units of a faulty value that a problem document shows. */
export const MAX_SHOWN_CHARACTERS = 256;

/** The limits that problem documents name, as texts. */
export const LIMITS = {
  headers: `${MAX_HEADER_BYTES / 1024} KiB`,
  filter: `${MAX_FILTER_CHARACTERS} characters`,
} as const;
