import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PROJECT, cleanEnvironment } from './program.js';

export interface LogLine {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The port for operators closes a connection that is idle for seconds: a slow client would send its next request at that moment. */
const ONCE = { headers: { Connection: 'close' } };

/** The real program in a process of its own. */
export class RunningService {
  private readonly parsed: LogLine[] = [];
  private readonly unparsed: string[] = [];
  private readonly waiting = new Set<() => void>();
  private errors = '';
  private constructor(private readonly child: ChildProcess) {
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      this.unparsed.push(...lines);
      for (const look of this.waiting) look();
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
  }

  /** Starts it, or another program (its path in the project, or an absolute one), on free ports of the loopback address and waits until it listens. */
  static async start(
    environment: Record<string, string>,
    { descriptors = 0, file = 'dist/main.js' } = {},
  ): Promise<RunningService> {
    const program = [process.execPath, file] as const;
    const [command, words] =
      descriptors > 0
        ? ['sh', ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...program]]
        : [program[0], [program[1]]];
    const child = spawn(command, words, {
      env: cleanEnvironment({ HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', ...environment }),
      cwd: PROJECT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const service = new RunningService(child);
    const exited = once(child, 'exit').then(([status]) =>
      Promise.reject(new Error(`the service ended with status ${status}: ${service.output}`)),
    );
    exited.catch(() => undefined);
    await Promise.race([service.waitForLog(({ msg }) => msg === 'listening'), exited]);
    return service;
  }

  /** The log so far; read when it is asked for, since there may be very much of it. */
  get lines(): readonly LogLine[] {
    for (const line of this.unparsed.splice(0)) this.parsed.push(JSON.parse(line) as LogLine);
    return this.parsed;
  }

  /** From now on its log is read and thrown away, at no cost: for runs that log very much. */
  ignoreLog(): void {
    this.child.stdout?.removeAllListeners('data').resume();
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get url(): string {
    return String(this.lines.find(({ msg }) => msg === 'listening')?.['url']);
  }

  get managementUrl(): string {
    return String(this.lines.find(({ msg }) => msg === 'listening')?.['managementUrl']);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get output(): string {
    return `${this.errors}${this.lines.map((line) => JSON.stringify(line)).join('\n')}`;
  }

  /** Resolves with the first line, past or to come, that fits. */
  waitForLog(fits: (line: LogLine) => boolean): Promise<LogLine> {
    return new Promise((resolve) => {
      const look = (): void => {
        const line = this.lines.find(fits);
        if (!line) return;
        this.waiting.delete(look);
        resolve(line);
      };
      this.waiting.add(look);
      look();
    });
  }

  async readiness(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`${this.managementUrl}/health/ready`, ONCE);
    return { status: response.status, text: await response.text() };
  }

  /** Resolves when the service says that it is ready. */
  ready = (): Promise<void> => until(async () => (await this.readiness()).status === 200);

  /** @param name of a metric, for the sum of its series, or of one series with its labels */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.managementUrl}/metrics`, ONCE)).text();
    const series = text
      .split('\n')
      .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async exited(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const [status] = (await once(this.child, 'exit')) as [number | null];
    return status;
  }

  /** Ends it at once: its orderly end is a test of its own. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited();
  }
}

/** What is waited for, and why the last look failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  isOver: boolean;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/** Asks again and again until the condition holds; for what has no event to wait for. Its only limit is that of the runner. */
export async function until(holds: () => Promise<boolean>, { everyMs = 20 } = {}): Promise<void> {
  const waiting: Waiting = { holds, isOver: false };
  waitings.add(waiting);
  while (!waiting.isOver) {
    try {
      if (await holds()) {
        waitings.delete(waiting);
        return;
      }
      delete waiting.error;
    } catch (error) {
      waiting.error = error;
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  throw new Error(`the test has ended: ${holds.toString()}`);
}

/** A test that ran out of time leaves its loops behind: they end, so that what it began is ended, and say what they have waited for. */
function endWaiting(): void {
  for (const waiting of waitings) {
    waiting.isOver = true;
    console.error('not true when its test ended:', waiting.holds.toString(), waiting.error ?? '');
  }
  waitings.clear();
}
// The long runs have no hooks
const { afterEach, afterAll } = globalThis as {
  afterEach?: (end: () => void) => void;
  afterAll?: (end: () => void) => void;
};
afterEach?.(endWaiting);
afterAll?.(endWaiting); // a beforeAll may run out of time, too
