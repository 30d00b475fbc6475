import { startService, type Service } from '../../src/bootstrap/start-service.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { collectLogs, logOf } from './local-log.js';
import { assertLocal } from './local-program.js';
import { ReachableService } from './reachable-service.js';

const DEFAULTS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };

collectLogs();

/**
 * The service in the process of the test, which starts in a tenth of a second. What belongs to a process (signals,
 * standard output, memory, variables that Node.js or OpenTelemetry read) is tested with RunningService.
 */
export class LocalService extends ReachableService {
  private ending: Promise<void> | undefined;

  private constructor(private readonly service: Service) {
    super(logOf(service.logger));
  }

  /** Starts it on free ports of the loopback address. It need not be ready. */
  static async start(environment: Record<string, string>): Promise<LocalService> {
    assertLocal(environment);
    return new LocalService(await startService(readConfiguration({ ...DEFAULTS, ...environment })));
  }

  get url(): string {
    return this.service.url;
  }

  get managementUrl(): string {
    return this.service.managementUrl;
  }

  /** Ends it in order, as SIGTERM does: it answers on for DRAIN_SECONDS. */
  async end(): Promise<void> {
    this.ending ??= this.service.stop('SIGTERM');
    await this.ending;
  }

  async kill(): Promise<void> {
    this.ending ??= this.service.stop();
    await this.ending;
  }
}
