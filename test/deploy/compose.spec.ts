import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { PROJECT } from '../support/program.js';

interface Service {
  readonly environment: Record<string, string>;
  readonly depends_on?: Record<string, { condition: string }>;
  readonly [property: string]: unknown;
}

const text = readFileSync(join(PROJECT, 'docker-compose.yml'), 'utf8');
const { services } = parse(text, { merge: true }) as {
  services: Record<'db' | 'migrate' | 'issuer' | 'api' | 'e2e', Service>;
};

/** Values as they are where nothing is set in the environment. */
const defaults = (environment: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:-([^}]*)\}/g, '$1'),
    ]),
  );

describe('docker-compose.yml', () => {
  it('names no version, which Compose v2 calls obsolete and v1 does not need', () => {
    expect(Object.keys(parse(text, { merge: true }) as object)).not.toContain('version');
  });

  it('gives the service a complete configuration, with the role that may only read', () => {
    const environment = defaults(services.api.environment);
    expect(readConfiguration(environment)).toMatchObject({
      ...environment,
      OAUTH_ISSUER: [environment['OAUTH_ISSUER']],
      OAUTH_ALLOW_HTTP: true,
    });
    expect(environment['DATABASE_URL']).toContain('//order_lookup_service:');
    expect(services.issuer.environment).toMatchObject({
      ISSUER_URL: environment['OAUTH_ISSUER'],
      ISSUER_AUDIENCE: environment['OAUTH_AUDIENCE'],
    });
  });

  it('mounts a volume for LAST_GOOD_FILE at the folder that the image has for it', () => {
    const folder = dirname(services.api.environment['LAST_GOOD_FILE'] ?? '');
    expect(services.api['volumes']).toEqual([`last-good:${folder}`]);
    const image = readFileSync(join(PROJECT, 'Dockerfile'), 'utf8');
    expect(image).toContain(`-o node -g node -m 700 ${folder}\n`);
  });

  it('takes every password from the environment, with a default that is named as such', () => {
    const passwords = [...text.matchAll(/\$\{\w+_(?:PASSWORD|SECRET):-([^}]*)\}/g)].map(
      ([, value = '']) => value,
    );
    expect(passwords).toHaveLength(8);
    for (const password of passwords) expect(password).toMatch(/^development-only-/);
    for (const { environment } of Object.values(services))
      for (const [name, value] of Object.entries(environment))
        if (/PASSWORD|SECRET/.test(name)) expect(value).toMatch(/^\$\{/);
  });

  it.each(['migrate', 'issuer', 'api'] as const)(
    'runs %s without privileges on a read-only file system',
    (name) => {
      expect(services[name]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    },
  );

  it('starts the service when the migrations have succeeded', () => {
    expect(services.migrate.depends_on).toEqual({ db: { condition: 'service_healthy' } });
    expect(services.api.depends_on).toMatchObject({
      migrate: { condition: 'service_completed_successfully' },
    });
    expect(services.e2e.depends_on).toEqual({ api: { condition: 'service_healthy' } });
  });

  it('publishes nothing beyond this machine', () => {
    for (const { ports = [] } of Object.values(services))
      for (const port of ports as string[]) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
