import type { Headers } from './openapi-types.js';

type Header = Headers[string];

export const text = (description: string): Header => ({
  description,
  schema: { type: 'string', maxLength: 1_024 },
});

export const REQUEST_ID: Header = {
  description: 'Id of the request, the same as in our log',
  schema: { type: 'string', format: 'uuid', maxLength: 36 },
};

export const RETRY_AFTER: Header = {
  description: 'Seconds to wait',
  schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 60 },
};

/** draft-ietf-httpapi-ratelimit-headers */
export const RATE_LIMIT: Headers = {
  RateLimit: text('What is left for this key, where the operator set a limit'),
  'RateLimit-Policy': text('The limit of this key, where the operator set one'),
};
