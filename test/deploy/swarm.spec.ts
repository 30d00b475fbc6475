import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { PROJECT } from '../support/program.js';

interface Service {
  readonly image: string;
  readonly environment?: Record<string, string>;
  readonly [property: string]: unknown;
}
type Services = Record<string, Service>;

const textOf = (name: string): string =>
  readFileSync(join(PROJECT, 'deploy', 'swarm', name), 'utf8');
const servicesOf = (name: string): Services =>
  (parse(textOf(name)) as { services: Services }).services;
const stack = servicesOf('stack.yml');
const development = servicesOf('development.yml');

describe('deploy/swarm', () => {
  it('gives the replicas a complete configuration, here and in development', () => {
    const given = parseEnv(textOf('configuration.env')) as Record<string, string>;
    const database = { DATABASE_URL: 'postgres://order_lookup_service@db/order_lookup' };
    expect(readConfiguration({ ...given, ...database })).toMatchObject({
      ...given,
      OAUTH_ISSUER: [given['OAUTH_ISSUER']],
    });
    const ofDevelopment = JSON.stringify(development['api']?.environment);
    const environment = JSON.parse(ofDevelopment.replace(/\$\{\w+:-([^}]*)\}/g, '$1')) as Record<
      string,
      string
    >;
    expect(readConfiguration({ ...given, ...environment, ...database })).toMatchObject({
      ...environment,
      OAUTH_ISSUER: [environment['OAUTH_ISSUER']],
      OAUTH_ALLOW_HTTP: true,
    });
  });

  it('mounts a volume of the node for LAST_GOOD_FILE', () => {
    const { environment, volumes } = stack['api'] as Service & { volumes: object[] };
    const folder = dirname(environment?.['LAST_GOOD_FILE'] ?? '');
    expect(volumes).toContainEqual({ type: 'volume', source: 'last-good', target: folder });
  });

  it('holds no password but those of development, which are named as such', () => {
    expect(textOf('stack.yml')).not.toMatch(/PASSWORD|postgres:\/\//);
    const passwords = [
      ...textOf('development.yml').matchAll(/\$\{\w+_(?:PASSWORD|SECRET):-([^}]*)\}/g),
    ];
    expect(passwords).toHaveLength(4);
    for (const [, password] of passwords) expect(password).toMatch(/^development-only-/);
  });

  it('runs replicas and balancer without privileges on a read-only file system', () => {
    for (const service of Object.values(stack))
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('starts a new replica before it stops an old one, and goes back where it does not become ready', () => {
    const { deploy } = stack['api'] as { deploy?: object };
    expect(deploy).toMatchObject({
      endpoint_mode: 'dnsrr',
      update_config: { order: 'start-first', parallelism: 1, failure_action: 'rollback' },
    });
  });

  it('runs the images of this version', () => {
    const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
      version: string;
    };
    const images = [stack['api'], stack['balancer'], development['issuer']].map(
      (service) => service?.image,
    );
    for (const image of images) expect(image).toMatch(new RegExp(`:${version}\\}$`));
    expect(textOf('as-owner.sh')).toContain(`order-lookup-services:${version}}`);
  });
});
