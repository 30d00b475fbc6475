import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node.js runs all requests of a packet at once: without a limit one client could let thousands of answers wait. */
export const MAX_WAITING_RESPONSES = 100;

const openResponses = new WeakMap<Socket, Set<ServerResponse>>();

/** The responses of a connection that its client has not read, in the order of the requests. */
export function openResponsesOf(socket: Socket): Set<ServerResponse> {
  const known = openResponses.get(socket);
  if (known) return known;
  const responses = new Set<ServerResponse>();
  openResponses.set(socket, responses);
  return responses;
}
