import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Collector } from '../support/collector.js';
import { PROJECT } from '../support/program.js';
import { Prometheus, hasPrometheus } from '../support/prometheus.js';
import { until } from '../support/service.js';
import { Stage } from '../support/stage.js';
import { Traffic } from '../support/traffic.js';

interface Dashboard {
  readonly panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
}

/** What counts only where something went wrong has no series before: refusals, and moments that lie ahead. */
const MAY_BE_EMPTY = ['Next moment', 'Connections refused', 'Unrecorded changes'];
const RANGE = '30s';

/** A real Prometheus scrapes three replicas: every query of the dashboard is asked, and every rule evaluated, with the database and then without. */
export async function monitoring(seconds = 30): Promise<string> {
  if (!hasPrometheus)
    return 'skipped: there is no prometheus on the path (Debian: apt-get install prometheus)';
  const collector = await Collector.start();
  const stage = await Stage.set(0);
  for (let count = 0; count < 3; count++)
    stage.replicas.push(await stage.replica(collector.environment));
  const targets = stage.replicas.map(({ managementUrl }) => new URL(managementUrl).host);
  const prometheus = await Prometheus.start(targets);
  let next = 0;
  const traffic = new Traffic(() => stage.replicas[next++ % 3]?.url ?? '', stage.credentials);
  try {
    await pause(seconds * 1000);
    const dashboard = JSON.parse(
      readFileSync(join(PROJECT, 'deploy', 'grafana', 'order-lookup-services.json'), 'utf8'),
    ) as Dashboard;
    const faults: string[] = [];
    let asked = 0;
    for (const { title, targets: queries = [] } of dashboard.panels)
      for (const { expr } of queries) {
        asked++;
        const samples = await prometheus
          .query(expr.replaceAll('$instance', '.*').replaceAll(/\$__(rate_interval|range)/g, RANGE))
          .catch((error: unknown) => String(error));
        if (typeof samples === 'string') faults.push(`${title}: ${samples}`);
        else if (samples.length === 0 && !MAY_BE_EMPTY.includes(title))
          faults.push(`${title}: no data`);
        else if (samples.some(({ value: [, value] }) => value === 'NaN'))
          faults.push(`${title}: NaN`);
      }
    const scraped = await prometheus.query('order_lookup_database_up');
    const calm = await prometheus.rules();
    await stage.postgres.stop();
    await until(async () =>
      (await prometheus.rules()).some(
        ({ name, state }) => name === 'OrderLookupDatabaseAway' && state !== 'inactive',
      ),
    );
    await stage.postgres.start();
    return [
      `${scraped.length} replicas scraped, ${asked} queries of the dashboard: ${faults.length} without data or wrong`,
      ...faults,
      `${calm.length} rules, ${calm.filter(({ health }) => health !== 'ok').length} that cannot be evaluated, ${calm.filter(({ state }) => state !== 'inactive').length} pending or firing in calm; with PostgreSQL stopped OrderLookupDatabaseAway is pending`,
      ...calm
        .filter(({ state }) => state !== 'inactive')
        .map(({ name, state }) => `${name} ${state}`),
    ].join('\n');
  } finally {
    await traffic.stop();
    await prometheus.stop();
    await stage.strike();
    await collector.close();
  }
}
