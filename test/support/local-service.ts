import { startService, type Service } from '../../src/bootstrap/start-service.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ReachableService } from './reachable-service.js';

/** The log is that of the process, so there is none here. */
const DEFAULTS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', LOG_LEVEL: 'silent' };

/**
 * The service in the process of the test, which starts in a tenth of a second. What belongs to a process (signals, the
 * log, memory, variables that Node.js or OpenTelemetry read) is tested with RunningService.
 */
export class LocalService extends ReachableService {
  private constructor(private readonly service: Service) {
    super();
  }

  /** Starts it on free ports of the loopback address. It need not be ready. */
  static async start(environment: Record<string, string>): Promise<LocalService> {
    return new LocalService(await startService(readConfiguration({ ...DEFAULTS, ...environment })));
  }

  get url(): string {
    return this.service.url;
  }

  get managementUrl(): string {
    return this.service.managementUrl;
  }

  async kill(): Promise<void> {
    await this.service.stop();
  }
}
