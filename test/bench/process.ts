import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Clock ticks a second, as Linux counts CPU time in /proc. */
const TICKS = 100;

/** A server in a process of its own, and what the operating system says of it. */
export class Server {
  private readonly child: ChildProcess;

  constructor(
    readonly name: string,
    readonly url: string,
    private readonly managementUrl: string,
    words: string[],
    environment: Record<string, string>,
  ) {
    this.child = spawn(process.execPath, words, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** Seconds of CPU time, all threads, user and system. */
  get cpu(): number {
    const fields =
      readFileSync(`/proc/${this.child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
  }

  /** Resident memory now and at most, in MiB. */
  get memory(): { now: number; peak: number } {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    const of = (name: string): number =>
      Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
    return { now: of('VmRSS'), peak: of('VmHWM') };
  }

  /** Milliseconds that a turn of our event loop took at most since this was asked before. */
  async longestTurn(): Promise<number> {
    return (await this.metric('nodejs_eventloop_lag_max_seconds')) * 1000;
  }

  async metric(name: string): Promise<number> {
    const metrics = await (await fetch(`${this.managementUrl}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1]);
  }

  async answers(path: string, headers: Record<string, string>, status: number): Promise<string> {
    for (let tries = 0; ; tries++) {
      const response = await fetch(this.url + path, { headers }).catch(() => undefined);
      const text = await response?.text();
      if (response?.status === status) return text ?? '';
      if (tries > 600)
        throw new Error(
          `${this.name} answers ${response?.status} where ${status} was expected: ${text?.slice(0, 300)}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }
}
