import {
  type JSONWebKeySet,
  type RemoteJWKSet,
  createRemoteJWKSet,
  customFetch,
  jwksCache,
} from 'jose';
import { TIMEOUT_MS, fetchJson } from './fetch-json.js';
import { keySetOf } from './key-set.js';

/**
 * jose's remote key set, of usable keys only. It fetches only when `reload` is called: its own cooldown does not pause after a failure, and
 * would delay a rotation after each fetch in the background.
 * @param jwks keys to begin with
 */
export const remoteKeySet = (address: string, jwks?: JSONWebKeySet): RemoteJWKSet =>
  createRemoteJWKSet(new URL(address), {
    timeoutDuration: TIMEOUT_MS,
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    [jwksCache]: jwks ? { jwks, uat: Date.now() } : {},
    [customFetch]: async (url, { signal }) =>
      Response.json((await keySetOf(await fetchJson(url, signal))).jwks),
  });
