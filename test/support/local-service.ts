import { EventEmitter } from 'node:events';
import { startService, type Service } from '../../src/bootstrap/start-service.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import type { LogOutput } from '../../src/telemetry/service-logger.js';
import { assertNoProcessVariables } from './local-program.js';
import { ReachableService, ServiceLog } from './reachable-service.js';
import { limitWait } from './waiting.js';

const DEFAULTS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };

/**
 * The service in the process of the test. It starts in a tenth of a second. Use RunningService to test what belongs to
 * a process: signals, standard output, memory, and variables that Node.js or OpenTelemetry read.
 */
export class LocalService extends ReachableService {
  private ending: Promise<void> | undefined;

  private constructor(
    private readonly service: Service,
    log: ServiceLog,
  ) {
    super(log);
  }

  /** Starts the service on free ports of the loopback address. Does not wait until it is ready. */
  static async start(environment: Record<string, string>): Promise<LocalService> {
    assertNoProcessVariables(environment);
    const log = new ServiceLog();
    const configuration = readConfiguration({ ...DEFAULTS, ...environment });
    const service = await limitWait('the start of the service', () =>
      startService(configuration, new LogCollector(log)),
    );
    return new LocalService(service, log);
  }

  get url(): string {
    return this.service.url;
  }

  get managementUrl(): string {
    return this.service.managementUrl;
  }

  /** Stops the service as SIGTERM does: it still answers requests for DRAIN_SECONDS. */
  end(): Promise<void> {
    return this.stop('SIGTERM');
  }

  kill(): Promise<void> {
    return this.stop();
  }

  private stop(signal?: string): Promise<void> {
    const ending = this.ending ?? this.service.stop(signal);
    this.ending = ending;
    return limitWait(
      () => `the end of the service, whose log is ${this.output}`,
      () => ending,
    );
  }
}

/** Keeps the lines of the log, because standard output belongs to the test runner. */
class LogCollector extends EventEmitter implements LogOutput {
  constructor(private readonly log: ServiceLog) {
    super();
  }

  write(line: string): boolean {
    this.log.add([line]);
    return true;
  }

  flush(onFlushed: () => void): void {
    onFlushed();
  }

  destroy(): void {}
}
