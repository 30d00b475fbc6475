// docker-compose.yml and deploy/swarm: that their parts fit the service, the image and each other.
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { textOf } from '../support/program.js';

type Service = { environment?: Record<string, string>; volumes?: unknown[]; ports?: string[] };

/** The services of a file, with values as they are where nothing is set in the environment. */
const servicesOf = (name: string): Record<string, Service> => {
  const text = textOf(name).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  return (parse(text, { merge: true }) as { services: Record<string, Service> }).services;
};
const compose = servicesOf('docker-compose.yml');
const stack = servicesOf('deploy/swarm/stack.yml');
const development = servicesOf('deploy/swarm/development.yml');
const given = {
  ...parseEnv(textOf('deploy/swarm/configuration.env')),
  DATABASE_URL: 'postgres://order_lookup_service@db/order_lookup',
};

const open = { OAUTH_ALLOW_HTTP: true };
describe.each<{ file: string; environment: NodeJS.ProcessEnv | undefined; more: object }>([
  { file: 'docker-compose.yml', environment: compose['api']?.environment, more: open },
  { file: 'deploy/swarm/stack.yml', environment: given, more: {} },
  {
    file: 'deploy/swarm/development.yml',
    environment: { ...development['api']?.environment, ...given },
    more: open,
  },
])('$file', ({ file, environment = {}, more }) => {
  it('gives the replicas a complete configuration, with the role that may only read', () => {
    const OAUTH_ISSUER = [environment['OAUTH_ISSUER']];
    const lists = { OAUTH_ISSUER, OAUTH_AUDIENCE: [environment['OAUTH_AUDIENCE']] };
    const { PGPASSWORD: _forPg, ...ours } = environment;
    expect(readConfiguration(environment)).toMatchObject({ ...ours, ...lists, ...more });
    expect(environment['DATABASE_URL']).toContain('//order_lookup_service');
  });

  it('holds no password but those of development, which are named as such', () => {
    for (const [, value] of textOf(file).matchAll(/(?:PASSWORD|CLIENT_SECRET)(?:: |:-)(.*)/g))
      expect(value).toMatch(/^(\$\{\w+:-)?development-only-/);
  });
});

const services = [...Object.entries(stack), ...Object.entries(compose)];
it.each(services.filter(([name]) => !['db', 'e2e'].includes(name)))(
  '%s runs without privileges on a read-only file system',
  (_, service) => expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] }),
);

describe('docker-compose.yml', () => {
  it('has one issuer, whose tokens are for the service', () => {
    const { OAUTH_ISSUER, OAUTH_AUDIENCE } = compose['api']?.environment ?? {};
    const { ISSUER_URL, ISSUER_AUDIENCE } = compose['issuer']?.environment ?? {};
    expect([ISSUER_URL, ISSUER_AUDIENCE]).toEqual([OAUTH_ISSUER, OAUTH_AUDIENCE]);
  });

  it('mounts a volume for LAST_GOOD_FOLDER at the folder that the image has for it', () => {
    const target = compose['api']?.environment?.['LAST_GOOD_FOLDER'] ?? '';
    expect(compose['api']?.volumes).toEqual([`last-good:${target}`]);
    expect(textOf('Dockerfile')).toContain(`-o node -g node -m 700 ${target}\n`);
    expect(stack['api']?.volumes).toContainEqual({ type: 'volume', source: 'last-good', target });
  });

  it('publishes nothing beyond this machine', () => {
    for (const port of Object.values(compose).flatMap(({ ports = [] }) => ports))
      expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
