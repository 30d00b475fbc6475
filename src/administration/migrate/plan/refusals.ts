import type { ServiceView } from './service-view.js';

/** What the service or callers would be refused afterwards, as sentences. */
export function refusalsAfter(before: ServiceView, after: ServiceView): string[] {
  const refusals = [...after.refusals];
  refusals.push(...after.objects.filter((fault) => !before.objects.includes(fault)));
  const clients = clientsOfLostKeys(before, after);
  if (clients.length > 0) {
    refusals.push(`callers will be refused: keys of ${clients.join(', ')}`);
  }
  return refusals;
}

/** A key that is revoked, changed or deleted, or that ends within 30 days. */
function clientsOfLostKeys(before: ServiceView, after: ServiceView): string[] {
  const present = new Set(after.keys.map(({ identity }) => identity));
  const lost = before.keys.filter(({ identity }) => !present.has(identity));
  return [...new Set(lost.map(({ client }) => client))].sort();
}
