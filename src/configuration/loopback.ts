/** Whether a host is this machine. An address has IPv6 in brackets, a variable such as PGHOST has it without. */
export function isLoopback(hostname: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(hostname) || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * With NODE_USE_ENV_PROXY `fetch` sends what is for this machine to the proxy as well, which cannot reach it. It reads
 * `no_proxy` anew where that has changed, and NO_PROXY only where that is not set.
 */
export function exemptFromProxy(hostname: string, environment: NodeJS.ProcessEnv = process.env): void {
  const exempted = environment['no_proxy'] ?? environment['NO_PROXY'] ?? '';
  const hosts = exempted.split(',').filter((host) => host !== '');
  if (exempted === '*' || hosts.includes(hostname)) return;
  environment['no_proxy'] = [...hosts, hostname].join(',');
}
