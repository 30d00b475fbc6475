import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './postgres-server.js';
import { PROJECT } from './program.js';
import { until } from './service.js';

export const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;

interface Sample {
  readonly metric: Record<string, string>;
  readonly value: readonly [time: number, value: string];
}

/** A real Prometheus (Debian has it as a package) that scrapes management ports every second and evaluates the rules of deploy/prometheus. */
export class Prometheus {
  private constructor(
    private readonly url: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(targets: readonly string[]): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'order-lookup-'));
    const [file, port] = [join(folder, 'prometheus.yml'), await freePort()];
    const configuration = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(PROJECT, 'deploy', 'prometheus', 'alerts.yaml')],
      scrape_configs: [{ job_name: 'order-lookup', static_configs: [{ targets }] }],
    };
    writeFileSync(file, JSON.stringify(configuration)); // JSON is YAML
    const child = spawn(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    const prometheus = new Prometheus(`http://127.0.0.1:${port}`, folder, child);
    await until(async () => (await fetch(`${prometheus.url}/-/ready`)).ok);
    return prometheus;
  }

  /** @throws Error with what Prometheus says of the query */
  async query(expression: string): Promise<Sample[]> {
    const answer = (await this.ask(`query?query=${encodeURIComponent(expression)}`)) as {
      result: Sample[] | [number, string];
    };
    return answer.result.filter((sample): sample is Sample => typeof sample === 'object');
  }

  /** The health of each rule, and whether it is firing. */
  async rules(): Promise<{ name: string; health: string; state: string }[]> {
    const { groups } = (await this.ask('rules')) as {
      groups: { rules: { name: string; health: string; state: string }[] }[];
    };
    return groups.flatMap(({ rules }) => rules);
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async ask(path: string): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      signal: AbortSignal.timeout(10_000),
    });
    const { data, error } = (await response.json()) as { data: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return data;
  }
}
