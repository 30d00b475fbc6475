import type { IncomingMessage } from 'node:http';

/** What the service reads of a request's headers, read in one pass over the raw list. Node joins or drops repeated fields silently; here they are counted. */
export interface RequestHead {
  host: string | undefined;
  hosts: number;
  apiKey: string | undefined;
  apiKeys: number;
  authorization: string | undefined;
  authorizations: number;
  ifNoneMatch: string | undefined;
  requestId: string | undefined;
  traceparent: string | undefined;
  tracestate: string | undefined;
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  /** Bytes of all header lines, counting `: ` and CRLF. */
  bytes: number;
}

export function readRequestHead({ rawHeaders }: IncomingMessage): RequestHead {
  const head: RequestHead = {
    host: undefined,
    hosts: 0,
    apiKey: undefined,
    apiKeys: 0,
    authorization: undefined,
    authorizations: 0,
    ifNoneMatch: undefined,
    requestId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    bytes: 0,
  };
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    head.bytes += name.length + value.length + 4;
    switch (name.toLowerCase()) {
      case 'host':
        head.host = value;
        head.hosts++;
        break;
      case 'api-key':
        head.apiKey = value;
        head.apiKeys++;
        break;
      case 'authorization':
        head.authorization = value;
        head.authorizations++;
        break;
      case 'if-none-match':
        head.ifNoneMatch = joined(head.ifNoneMatch, value);
        break;
      case 'x-request-id':
        head.requestId = value;
        break;
      case 'traceparent':
        head.traceparent = value;
        break;
      case 'tracestate':
        head.tracestate = joined(head.tracestate, value);
        break;
      case 'content-length':
        head.contentLength = value;
        break;
      case 'transfer-encoding':
        head.transferEncoding = joined(head.transferEncoding, value);
        break;
    }
  }
  return head;
}

/** Field lines of one name count as one list (RFC 9110 section 5.2). */
const joined = (former: string | undefined, value: string): string =>
  former === undefined ? value : `${former}, ${value}`;
