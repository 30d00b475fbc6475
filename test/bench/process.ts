import { type ChildProcess, spawn } from 'node:child_process';
import { cpuSeconds, peakMebibytes, residentMebibytes } from '../support/linux-process.js';

/** A server in a process of its own, and what the operating system says of it. */
export class Server {
  private readonly child: ChildProcess;

  constructor(
    readonly name: string,
    words: string[],
    private readonly environment: Record<string, string>,
  ) {
    this.child = spawn(process.execPath, words, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  /** Seconds of CPU time, all threads, user and system. */
  get cpu(): number {
    return cpuSeconds(this.child.pid ?? 0);
  }

  /** Resident memory now and at most, in MiB. */
  get memory(): { now: number; peak: number } {
    const { pid = 0 } = this.child;
    return { now: residentMebibytes(pid), peak: peakMebibytes(pid) };
  }

  get url(): string {
    return `http://127.0.0.1:${this.environment['PORT']}`;
  }

  /** Milliseconds that a turn of the event loop took at most since this was asked before; NaN where there are no metrics. */
  async longestTurn(): Promise<number> {
    const url = `http://127.0.0.1:${this.environment['MANAGEMENT_PORT']}/metrics`;
    const text = await fetch(url).then(
      (response) => response.text(),
      () => '',
    );
    return Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]) * 1000;
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
