import type { ServiceView } from './service-view.js';

/**
 * What the service or callers would be refused afterwards, as sentences. What the service would not read is one also if
 * that was so before: then the plan could not compare what callers see, so it must not say that nothing breaks.
 */
export function refusalsAfter(before: ServiceView, after: ServiceView): string[] {
  const refusals = [...after.refusals];
  const clients = clientsOfLostKeys(before, after);
  if (clients.length > 0) {
    refusals.push(`callers will be refused: keys of ${clients.join(', ')}`);
  }
  return refusals;
}

/**
 * The clients of keys that are revoked, deleted, or have another hash, and of those whose end was brought forward to
 * within 30 days. A key that ends within 30 days anyway is none.
 */
function clientsOfLostKeys(before: ServiceView, after: ServiceView): string[] {
  const present = new Set(after.keys.map(({ identity }) => identity));
  const lost = before.keys.filter(({ identity }) => !present.has(identity));
  return [...new Set(lost.map(({ client }) => client))].sort();
}
