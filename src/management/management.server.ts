// The port for operators. It is separate from the API's port, is not subject to the overload limit, and needs no credentials.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Problem, retryAfter } from '../problems/problem.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { Metrics } from '../telemetry/metrics.js';
import { HealthService } from './health.service.js';

@Injectable()
export class ManagementServer implements OnApplicationShutdown {
  readonly server: Server;

  constructor(
    private readonly health: HealthService,
    private readonly problems: ProblemRenderer,
    private readonly metrics: Metrics,
  ) {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  /** Called last, so that health and metrics are available while the service ends. */
  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (method !== 'GET' && method !== 'HEAD')
        throw new Problem('method-not-allowed', {
          detail: 'Use GET.',
          headers: ['Allow', 'GET, HEAD'],
        });
      const [type, body] = await this.read(url);
      response.writeHead(200, {
        'Content-Type': type,
        'Content-Length': Buffer.byteLength(body),
        'Cache-Control': 'no-store',
      });
      response.end(method === 'HEAD' ? undefined : body);
    } catch (error) {
      const problem =
        error instanceof Problem
          ? error
          : new Problem('internal-error', { detail: 'The metrics cannot be collected.' });
      const { status, headers, body } = this.problems.render(problem, randomUUID());
      response.writeHead(status, headers).end(method === 'HEAD' ? undefined : body);
    }
  }

  private async read(url: string | undefined): Promise<[type: string, body: string]> {
    const [path] = (url ?? '').split('?');
    switch (path) {
      case '/health/live':
        return ['application/json', '{"status":"ok"}'];
      case '/health/ready': {
        const { obstacles } = this.health;
        if (obstacles.length > 0)
          throw new Problem('not-ready', { detail: obstacles.join(' '), headers: retryAfter(1) });
        return ['application/json', JSON.stringify({ status: 'ok', ...this.health.remarks })];
      }
      case '/metrics':
        return [this.metrics.registry.contentType, await this.metrics.registry.metrics()];
      default:
        throw new Problem('not-found', {
          detail: 'There are /health/live, /health/ready and /metrics.',
        });
    }
  }
}
