// docker-compose.yml and deploy/swarm: that their parts fit the service, the image and each other.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { PROJECT } from '../support/program.js';

interface Service {
  readonly image?: string;
  readonly environment?: Record<string, string>;
  readonly volumes?: unknown[];
  readonly ports?: string[];
  readonly deploy?: object;
  readonly depends_on?: Record<string, { condition: string }>;
}

const read = (name: string): string => readFileSync(join(PROJECT, name), 'utf8');
const servicesOf = (name: string): Record<string, Service> =>
  (parse(read(name), { merge: true }) as { services: Record<string, Service> }).services;
const compose = servicesOf('docker-compose.yml');
const stack = servicesOf('deploy/swarm/stack.yml');
const development = servicesOf('deploy/swarm/development.yml');
const given = parseEnv(read('deploy/swarm/configuration.env')) as Record<string, string>;
const database = { DATABASE_URL: 'postgres://order_lookup_service@db/order_lookup' };

/** Values as they are where nothing is set in the environment. */
const defaults = (service: Service | undefined): Record<string, string> =>
  JSON.parse(
    JSON.stringify(service?.environment).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'),
  ) as Record<string, string>;

describe.each<[string, Record<string, string>, object]>([
  ['docker-compose.yml', defaults(compose['api']), { OAUTH_ALLOW_HTTP: true }],
  ['deploy/swarm/stack.yml', { ...given, ...database }, {}],
  [
    'deploy/swarm/development.yml',
    { ...given, ...defaults(development['api']), ...database },
    { OAUTH_ALLOW_HTTP: true },
  ],
])('%s', (file, environment, more) => {
  const services = servicesOf(file);

  it('gives the replicas a complete configuration, with the role that may only read', () => {
    expect(readConfiguration(environment)).toMatchObject({
      ...environment,
      OAUTH_ISSUER: [environment['OAUTH_ISSUER']],
      ...more,
    });
    expect(environment['DATABASE_URL']).toContain('//order_lookup_service');
  });

  it('holds no password but those of development, which are named as such', () => {
    const passwords = read(file).matchAll(/\$\{\w+_(?:PASSWORD|CLIENT_SECRET):-([^}]*)\}/g);
    for (const [, password] of passwords) expect(password).toMatch(/^development-only-/);
    for (const { environment: values = {} } of Object.values(services))
      for (const [name, value] of Object.entries(values))
        if (/PASSWORD|CLIENT_SECRET/.test(name)) expect(value).toMatch(/^\$\{/);
    if (file.endsWith('stack.yml')) expect(read(file)).not.toMatch(/PASSWORD|postgres:\/\//);
  });
});

it.each([
  ...Object.entries(stack),
  ...['migrate', 'issuer', 'api'].map((name) => [name, compose[name]] as const),
])('%s runs without privileges on a read-only file system', (_, service) => {
  expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
});

describe('docker-compose.yml', () => {
  it('has one issuer, whose tokens are for the service', () => {
    const { OAUTH_ISSUER: ISSUER_URL, OAUTH_AUDIENCE: ISSUER_AUDIENCE } = defaults(compose['api']);
    expect(compose['issuer']?.environment).toMatchObject({ ISSUER_URL, ISSUER_AUDIENCE });
  });

  it('mounts a volume for LAST_GOOD_FILE at the folder that the image has for it', () => {
    const folder = dirname(compose['api']?.environment?.['LAST_GOOD_FILE'] ?? '');
    expect(compose['api']?.volumes).toEqual([`last-good:${folder}`]);
    expect(read('Dockerfile')).toContain(`-o node -g node -m 700 ${folder}\n`);
    const mount = { type: 'volume', source: 'last-good', target: folder };
    expect(stack['api']?.volumes).toContainEqual(mount);
  });

  it('starts the service when the migrations have succeeded', () => {
    expect(compose['migrate']?.depends_on).toEqual({ db: { condition: 'service_healthy' } });
    expect(compose['api']?.depends_on).toMatchObject({
      migrate: { condition: 'service_completed_successfully' },
    });
    expect(compose['e2e']?.depends_on).toEqual({ api: { condition: 'service_healthy' } });
  });

  it('publishes nothing beyond this machine', () => {
    for (const { ports = [] } of Object.values(compose))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

describe('deploy/swarm', () => {
  it('starts a new replica before it stops an old one, and goes back where it does not become ready', () => {
    expect(stack['api']?.deploy).toMatchObject({
      endpoint_mode: 'dnsrr',
      update_config: { order: 'start-first', parallelism: 1, failure_action: 'rollback' },
    });
  });
});
