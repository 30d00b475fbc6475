import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PROJECT, cleanEnvironment } from './program.js';
import { ReachableService } from './reachable-service.js';
import { limitWait } from './waiting.js';

export interface ProcessOptions {
  /** The number of files that the service may open. With 0 it has the limit of the test's process. */
  readonly descriptors?: number;
  /** The program: a path in the project, or an absolute one. */
  readonly file?: string;
}

/** The service in a process of its own. */
export class RunningService extends ReachableService {
  private errors = '';

  private constructor(private readonly child: ChildProcess) {
    super();
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      this.log.add(lines);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
  }

  /** Starts the service on free ports of the loopback address, and waits until it listens. */
  static async start(
    environment: Record<string, string>,
    { descriptors = 0, file = 'dist/main.js' }: ProcessOptions = {},
  ): Promise<RunningService> {
    const program = [process.execPath, file];
    const limited = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...program];
    const [command = '', ...words] = descriptors > 0 ? limited : program;
    const child = spawn(command, words, {
      env: cleanEnvironment({ HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', ...environment }),
      cwd: PROJECT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const service = new RunningService(child);
    await Promise.race([service.waitUntilListening(), service.throwIfStartFails()]);
    return service;
  }

  private async waitUntilListening(): Promise<void> {
    await this.waitForLog(({ msg }) => msg === 'listening');
  }

  /** Throws if the process ends before it listens. Otherwise the promise is never settled. */
  private async throwIfStartFails(): Promise<never> {
    const [status] = (await once(this.child, 'exit')) as [number | null];
    const isListening = this.lines.some(({ msg }) => msg === 'listening');
    if (isListening) return new Promise(() => undefined);
    throw new Error(`the service ended with status ${status}: ${this.output}`);
  }

  /** Drops all further lines of the log, for runs whose log is so long that keeping it would cost much. */
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

  override get output(): string {
    return `${this.errors}${super.output}`;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  async waitForExit(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const [status] = await limitWait(
      () => `the end of the service, whose output is ${this.output}`,
      () => once(this.child, 'exit'),
    );
    return status as number | null;
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.waitForExit();
  }
}
