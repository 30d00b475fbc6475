import { MAX_CONNECTIONS, RESERVED_DESCRIPTORS } from '../limits.js';

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/** How many connections the process may hold: at its descriptor limit it could not even answer its health checks. */
export function maxConnections(): number {
  const { userLimits } = process.report.getReport() as Report;
  const descriptors = Number(userLimits?.open_files?.soft);
  return Number.isFinite(descriptors)
    ? Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS))
    : MAX_CONNECTIONS;
}
