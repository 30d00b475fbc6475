import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly labelNames: string[];
  readonly help: string;
}

/** Returns the metrics of the service with their labels, without starting a service. */
export async function listMetrics(): Promise<Metric[]> {
  const issuer = { OAUTH_ISSUER: 'https://issuer.example', OAUTH_AUDIENCE: 'orders' };
  const environment = { ...issuer, DATABASE_URL: 'postgres://127.0.0.1', LOG_LEVEL: 'silent' };
  const app = await createApplication(readConfiguration(environment));
  const metrics = app.get(Metrics);
  metrics.onModuleInit(); // Nest would call it only when the application starts
  await app.close();
  return metrics.registry.getMetricsAsArray() as never;
}
