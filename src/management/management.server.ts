import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Problem, formatRetryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import { HealthService } from './health.service.js';

interface Resource {
  readonly type: string;
  readonly body: string;
}

/**
 * The port for operators. It has a server of its own, without the limits and credentials of the API. It answers until
 * the service has ended: `startService` first closes the application, and then this server.
 */
@Injectable()
export class ManagementServer {
  readonly server: Server;
  private readonly logger = new Logger(ManagementServer.name);

  constructor(
    private readonly health: HealthService,
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  /** Closes the port. It is no hook of Nest, because Nest would call it while other modules still have work to do. */
  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = url.split('?');
    try {
      const { type, body } = await this.read(path);
      response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body);
    } catch (error) {
      this.sendProblem(response, error);
    }
  }

  private async read(path: string): Promise<Resource> {
    switch (path) {
      case '/health/live':
        return toJsonResource({ status: 'ok' });
      case '/health/ready':
        return this.readReadiness();
      case '/metrics': {
        const { registry } = this.metrics;
        return { type: registry.contentType, body: await registry.metrics() };
      }
      default:
        throw new Problem('not-found', { detail: 'There are /health/live, /health/ready and /metrics.' });
    }
  }

  private readReadiness(): Resource {
    const { unavailableReasons } = this.health;
    if (unavailableReasons.length > 0) {
      const detail = unavailableReasons.join(' ');
      throw new Problem('not-ready', { detail, headers: { 'Retry-After': formatRetryAfter(1) } });
    }
    return toJsonResource({ status: 'ok' });
  }

  private sendProblem(response: ServerResponse, error: unknown): void {
    const problem = error instanceof Problem ? error : this.reportMetricsFailure(error);
    const requestId = randomUUID();
    const { status, headers, body } = problem.render(requestId, this.configuration.baseAddress);
    response.writeHead(status, { 'X-Request-Id': requestId, ...headers }).end(body);
  }

  /** Reports any error except a Problem. Only a gauge of the metrics can throw such an error. */
  private reportMetricsFailure(error: unknown): Problem {
    this.logger.error({ message: 'the metrics cannot be collected', error });
    return new Problem('internal-error', { detail: 'The metrics cannot be collected.' });
  }
}

function toJsonResource(members: Readonly<Record<string, unknown>>): Resource {
  return { type: 'application/json', body: JSON.stringify(members) };
}
