import { accessSync, constants } from 'node:fs';

/** Proxies of the environment count from these versions on; Node.js 23 and what is older ignores the variable. */
const PROXY_SINCE = { major: 22, minor: 21 };
const LAST_WITHOUT_PROXY = 23;

/**
 * What is set for Node.js itself and cannot work. Node.js starts nevertheless, and says nothing or one line that nobody
 * sees; then the issuer or the database cannot be reached.
 */
export function nodeEnvironmentWarnings(environment: NodeJS.ProcessEnv, version: string): string[] {
  const warnings: string[] = [];
  const { NODE_EXTRA_CA_CERTS: certificates, NODE_USE_ENV_PROXY: useProxy } = environment;
  if (certificates && !isReadable(certificates))
    warnings.push(`NODE_EXTRA_CA_CERTS names ${certificates}, which cannot be read: its certificates do not count`);
  if (useProxy && !supportsProxy(version))
    warnings.push(`NODE_USE_ENV_PROXY has no effect with Node.js ${version}: use 22.21, 24 or later`);
  return warnings;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function supportsProxy(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > LAST_WITHOUT_PROXY) return true;
  return major === PROXY_SINCE.major && minor >= PROXY_SINCE.minor;
}
