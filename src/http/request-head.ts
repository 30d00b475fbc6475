import type { IncomingMessage } from 'node:http';

/** What the service reads of a request's headers, found in one pass over the raw list. Node joins or drops repeated fields silently; here they are counted. */
export interface RequestHead {
  hosts: number;
  apiKey: string | undefined;
  apiKeys: number;
  authorization: string | undefined;
  authorizations: number;
  ifNoneMatch: string | undefined;
  requestId: string | undefined;
  traceparent: string | undefined;
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  /** Bytes of all header lines, counting `: ` and CRLF. */
  bytes: number;
}

/** Header names are compared by length first: few of a request's fields are ours. */
export function readRequestHead({ rawHeaders }: IncomingMessage): RequestHead {
  const head: RequestHead = {
    hosts: 0,
    apiKey: undefined,
    apiKeys: 0,
    authorization: undefined,
    authorizations: 0,
    ifNoneMatch: undefined,
    requestId: undefined,
    traceparent: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    bytes: 0,
  };
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    head.bytes += name.length + value.length + 4;
    switch (name.length) {
      case 4:
        if (is(name, 'host')) head.hosts++;
        break;
      case 7:
        if (is(name, 'api-key')) {
          head.apiKey = value;
          head.apiKeys++;
        }
        break;
      case 11:
        if (is(name, 'traceparent')) head.traceparent = value;
        break;
      case 12:
        if (is(name, 'x-request-id')) head.requestId = value;
        break;
      case 13:
        if (is(name, 'authorization')) {
          head.authorization = value;
          head.authorizations++;
        } else if (is(name, 'if-none-match'))
          head.ifNoneMatch =
            head.ifNoneMatch === undefined ? value : `${head.ifNoneMatch}, ${value}`;
        break;
      case 14:
        if (is(name, 'content-length')) head.contentLength = value;
        break;
      case 17:
        if (is(name, 'transfer-encoding'))
          head.transferEncoding =
            head.transferEncoding === undefined ? value : `${head.transferEncoding}, ${value}`;
        break;
    }
  }
  return head;
}

const is = (name: string, lowerCase: string): boolean =>
  name === lowerCase || name.toLowerCase() === lowerCase;
