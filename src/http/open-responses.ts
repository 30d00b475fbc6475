import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node.js runs all requests of a packet at once: without a limit one client could let thousands of answers wait. */
export const MAX_WAITING_RESPONSES = 100;

/** What the requests of one connection led to. */
export interface ConnectionResponses {
  /** Those that the client has not read, in the order of the requests. */
  readonly open: Set<ServerResponse>;
  /** To the last request, read or not. */
  latest: ServerResponse | undefined;
}

const connections = new WeakMap<Socket, ConnectionResponses>();

export function responsesOf(socket: Socket): ConnectionResponses {
  const known = connections.get(socket);
  if (known) return known;
  const responses = { open: new Set<ServerResponse>(), latest: undefined };
  connections.set(socket, responses);
  return responses;
}
