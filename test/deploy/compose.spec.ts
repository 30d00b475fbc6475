// Checks docker-compose.yml and the Dockerfiles without Docker.
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration, variableNames } from '../../src/configuration/read-configuration.js';
import { readBlocks } from '../support/pages.js';
import { readText } from '../support/program.js';

interface ComposeService {
  readonly environment: Record<string, string>;
  readonly ports?: readonly string[];
  readonly restart?: string;
  readonly profiles?: readonly string[];
}

/** docker-compose.yml with the default of each variable. */
const text = readText('docker-compose.yml').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
const composeFile = parse(text, { merge: true }) as {
  services: Record<'db' | 'migrate' | 'issuer' | 'api' | 'e2e', ComposeService>;
};
const { services } = composeFile;
const { api, issuer, migrate } = services;

it('docker-compose.yml gives the replicas a complete configuration', () => {
  expect(readConfiguration(api.environment)).toMatchObject({
    OAUTH_ISSUER: [issuer.environment['ISSUER_URL']],
    OAUTH_AUDIENCE: [issuer.environment['ISSUER_AUDIENCE']],
    OAUTH_ALLOW_HTTP: true,
  });
  const others = Object.keys(api.environment).filter((name) => !variableNames.includes(name));
  expect(others).toEqual(['PGPASSWORD']); // pg reads this variable, and our configuration does not know it
});

it('with the override file of docs/compose.md the replicas use only the issuer of that file, and no plain http', () => {
  const block = readBlocks('docs/compose.md').find(({ language }) => language === 'yaml')?.text ?? '';
  const override = parse(block) as typeof composeFile;
  const environment = override.services.api.environment;
  expect(readConfiguration({ ...api.environment, ...environment })).toMatchObject({
    OAUTH_ISSUER: [environment['OAUTH_ISSUER']],
    OAUTH_AUDIENCE: [environment['OAUTH_AUDIENCE']],
    OAUTH_ALLOW_HTTP: false,
  });
  expect(environment['OAUTH_ISSUER']).not.toBe(issuer.environment['ISSUER_URL']);
});

it('docker-compose.yml gives the replicas the role of the service', () => {
  expect(api.environment['DATABASE_URL']).toMatch(/^postgres:\/\/order_lookup_service@/);
});

it('each password in docker-compose.yml begins with development-only-', () => {
  // Finds, for example, the passwords in `PGPASSWORD: password` and `postgres://role:password@db`
  const SECRETS = /(?:PASSWORD|CLIENT_SECRET)(?:: |=|:-)(?<variable>.*)|:\/\/[^\s:/@]+:(?<address>\S+)@/g;
  const found = [...readText('docker-compose.yml').matchAll(SECRETS)];
  const passwords = found.map(({ groups }) => groups?.['variable'] ?? groups?.['address']);
  expect(passwords).toHaveLength(8); // if the pattern missed a password, the test would not check it
  for (const password of passwords) expect(password).toMatch(/^(\$\{\w+:-)?development-only-/);
});

describe('docker-compose.yml runs a service without privileges and on a read-only file system:', () => {
  it.each(Object.entries({ api, issuer, migrate }))('%s', (_, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });
});

it.each(['Dockerfile', 'deploy/database/Dockerfile'])('%s makes what it copies readable for every user', (file) => {
  const lines = readText(file)
    .split('\n')
    .filter((line) => !line.startsWith('#'));
  const isCopyOfProject = (line: string): boolean => line.startsWith('COPY ') && !line.startsWith('COPY --from=');
  expect(lines.filter(isCopyOfProject)).toHaveLength(1);
  const next = lines[lines.findIndex(isCopyOfProject) + 1];
  expect(next).toMatch(/^RUN chmod -R u=rwX,go=rX /);
});

it('after a restart of the machine Docker starts all services of docker-compose.yml, but not the migrations', () => {
  const { migrate: migrations, ...others } = services;
  const started = Object.entries(others).filter(([, { profiles }]) => profiles === undefined);
  expect(started.map(([name, { restart }]) => [name, restart])).toEqual([
    ['db', 'always'],
    ['issuer', 'always'],
    ['api', 'always'],
  ]);
  expect(migrations.restart).toBe('no');
});

it('docker-compose.yml and the manifests limit the memory of a replica, and not its processor', () => {
  expect(api).toMatchObject({ mem_limit: '512m' });
  expect(api).not.toHaveProperty('cpus');
  const deployment = parse(readText('deploy/kubernetes/deployment.yaml')) as {
    spec: { template: { spec: { containers: { resources: { limits: object } }[] } } };
  };
  expect(deployment.spec.template.spec.containers[0]?.resources.limits).toEqual({ memory: '512Mi' });
});

it('docker-compose.yml publishes ports on this machine only', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(ports.length).toBeGreaterThan(0);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});
