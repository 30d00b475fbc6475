// The port for operators. It is separate from the API's port, is not subject to its limits, and needs no credentials.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import { HealthService } from './health.service.js';

const PAGE = 'text/html; charset=utf-8';

@Injectable()
export class ManagementServer implements OnApplicationShutdown {
  readonly server: Server;

  constructor(
    private readonly health: HealthService,
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  /** Called last, so that health and metrics are available while the service ends. */
  onApplicationShutdown(): void {
    this.server.close().closeAllConnections();
  }

  private async answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const [type, body] = await this.read(url.replace(/\?.*/, ''));
      if (type === PAGE) response.setHeader('Refresh', '10'); // a browser asks again after ten seconds
      response.setHeader('Content-Type', type).setHeader('Cache-Control', 'no-store').end(body);
    } catch (error) {
      const detail = 'The state cannot be collected.';
      const problem = error instanceof Problem ? error : new Problem('internal-error', { detail });
      const requestId = randomUUID();
      const { status, headers, body } = problem.render(requestId, this.configuration.baseAddress);
      response.writeHead(status, { 'X-Request-Id': requestId, ...headers }).end(body);
    }
  }

  private async read(path: string): Promise<[type: string, body: string]> {
    const { obstacles, remarks } = this.health;
    const { registry } = this.metrics;
    if (path === '/') return [PAGE, await this.health.page()];
    if (path === '/health/live') return ['application/json', '{"status":"ok"}'];
    if (path === '/metrics') return [registry.contentType, await registry.metrics()];
    const detail = 'There are /, /health/live, /health/ready and /metrics.';
    if (path !== '/health/ready') throw new Problem('not-found', { detail });
    if (obstacles.length > 0)
      throw new Problem('not-ready', { detail: obstacles.join(' '), headers: retryAfter(1) });
    return ['application/json', JSON.stringify({ status: 'ok', ...remarks })];
  }
}
