/** Returns whether a host is this machine. Accepts IPv6 with brackets, as in a URL, and without, as in PGHOST. */
export function isLoopback(hostname: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(hostname) || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * Adds the host to `no_proxy`. With NODE_USE_ENV_PROXY, `fetch` would ask the proxy, which cannot reach this machine.
 * `fetch` reads NO_PROXY only if `no_proxy` is not set.
 */
export function exemptFromProxy(hostname: string, environment: NodeJS.ProcessEnv = process.env): void {
  const exempted = environment['no_proxy'] ?? environment['NO_PROXY'] ?? '';
  const hosts = exempted.split(',').filter((host) => host !== '');
  if (exempted === '*' || hosts.includes(hostname)) return;
  environment['no_proxy'] = [...hosts, hostname].join(',');
}
