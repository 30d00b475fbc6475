// docker-compose.yml and deploy/swarm: that their parts fit the service, the image and each other.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration, variableNames } from '../../src/configuration/read-configuration.js';
import { PROJECT, textOf } from '../support/program.js';
import { testFolder } from '../support/test-folder.js';

type Variables = Record<string, string>;

interface ComposeService {
  readonly environment?: Variables;
  readonly env_file?: string;
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
}

interface ComposeFile {
  readonly services: Record<string, ComposeService>;
  readonly secrets?: Record<string, { readonly name: string }>;
}

const SWARM = 'deploy/swarm';
const compose = composeFile('docker-compose.yml');
const stack = composeFile(`${SWARM}/stack.yml`);
const development = composeFile(`${SWARM}/development.yml`);

/** A file, with values as they are where nothing is set in the environment. */
function composeFile(name: string): ComposeFile {
  const text = textOf(name).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  return parse(text, { merge: true }) as ComposeFile;
}

function serviceOf({ services }: ComposeFile, name: string): ComposeService {
  const service = services[name];
  if (!service) throw new Error(`there is no service ${name}`);
  return service;
}

/** As Docker does it: what stands in `environment` wins over the file that `env_file` names. */
function variablesOf({ env_file: file, environment }: ComposeService): Variables {
  const ofFile = file === undefined ? {} : (parseEnv(textOf(join(SWARM, file))) as Variables);
  return { ...ofFile, ...environment };
}

const api = {
  compose: variablesOf(serviceOf(compose, 'api')),
  stack: variablesOf(serviceOf(stack, 'api')),
  /** With `-c stack.yml -c development.yml` the later file wins. */
  development: {
    ...variablesOf(serviceOf(stack, 'api')),
    ...variablesOf(serviceOf(development, 'api')),
  },
};

const ofDevelopment = {
  OAUTH_ISSUER: ['http://issuer:3002'],
  OAUTH_AUDIENCE: ['https://orders.development.example'],
  OAUTH_ALLOW_HTTP: true,
};

describe('the replicas get a complete configuration', () => {
  it.each([
    {
      file: 'docker-compose.yml',
      variables: api.compose,
      ofLibrary: ['PGPASSWORD'],
      configuration: ofDevelopment,
    },
    {
      file: 'stack.yml',
      variables: withSecretFile(api.stack),
      ofLibrary: [],
      configuration: {
        OAUTH_ISSUER: ['https://login.example.com/realms/orders'],
        OAUTH_AUDIENCE: ['https://orders.example.com'],
        OAUTH_ALLOW_HTTP: false,
        PUBLIC_BASE_URL: 'https://orders.example.com',
        TRUSTED_PROXY_HOPS: 1,
      },
    },
    {
      file: 'stack.yml with development.yml',
      variables: withSecretFile(api.development),
      ofLibrary: [],
      configuration: {
        ...ofDevelopment,
        PUBLIC_BASE_URL: 'http://127.0.0.1:80',
        TRUSTED_PROXY_HOPS: 1,
      },
    },
  ])('$file', ({ variables, ofLibrary, configuration }) => {
    expect(readConfiguration(variables)).toMatchObject({ ...configuration, warnings: [] });
    const others = Object.keys(variables).filter((name) => !variableNames.includes(name));
    expect(others).toEqual(ofLibrary);
  });

  /** The secret is no file of this machine. */
  function withSecretFile(variables: Variables): Variables {
    const file = join(testFolder(), 'database_url');
    writeFileSync(file, 'postgres://db/order_lookup');
    return { ...variables, DATABASE_URL_FILE: file };
  }
});

describe('the replicas have the role that may only read', () => {
  it('docker-compose.yml', () => {
    expect(api.compose['DATABASE_URL']).toMatch(/^postgres:\/\/order_lookup_service@/);
  });

  it('stack.yml, by the secret that docs/swarm.md makes', () => {
    const [secret = ''] = serviceOf(stack, 'api').secrets ?? [];
    expect(api.stack['DATABASE_URL_FILE']).toBe(`/run/secrets/${secret}`);
    const name = stack.secrets?.[secret]?.name;
    expect(textOf('docs/swarm.md')).toMatch(
      new RegExp(`docker secret create ${name} - +# role order_lookup_service$`, 'm'),
    );
  });
});

describe('a file holds no password but those of development, which are named as such', () => {
  const SECRETS = /(?:PASSWORD|CLIENT_SECRET)(?:: |=|:-)(?<variable>.*)|:\/\/[^\s:/@]+:(?<address>\S+)@/g;

  it.each([
    { file: 'docker-compose.yml', count: 8 },
    { file: `${SWARM}/development.yml`, count: 4 },
    ...readdirSync(join(PROJECT, SWARM))
      .filter((name) => name !== 'development.yml')
      .map((name) => ({ file: `${SWARM}/${name}`, count: 0 })),
  ])('$file', ({ file, count }) => {
    const found = [...textOf(file).matchAll(SECRETS)];
    const passwords = found.map(({ groups }) => groups?.['variable'] ?? groups?.['address']);
    expect(passwords).toHaveLength(count);
    for (const password of passwords) expect(password).toMatch(/^(\$\{\w+:-)?development-only-/);
  });
});

describe('what is made of this project runs without privileges on a read-only file system', () => {
  const ofOthers = ['db', 'e2e'];
  const rows = [
    { file: 'docker-compose.yml', services: compose.services },
    { file: 'deploy/swarm', services: { ...development.services, ...stack.services } },
  ].flatMap(({ file, services }) => Object.entries(services).map(([name, service]) => ({ file, name, service })));
  it.each(rows.filter(({ name }) => !ofOthers.includes(name)))('$file: $name', ({ service }) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });
});

it.each([
  { file: 'docker-compose.yml', issuer: serviceOf(compose, 'issuer'), variables: api.compose },
  {
    file: 'development.yml',
    issuer: serviceOf(development, 'issuer'),
    variables: api.development,
  },
])('the issuer of $file issues tokens for the service', ({ issuer, variables }) => {
  expect(issuer.environment).toMatchObject({
    ISSUER_URL: variables['OAUTH_ISSUER'],
    ISSUER_AUDIENCE: variables['OAUTH_AUDIENCE'],
  });
});

it('docker-compose.yml publishes nothing beyond this machine', () => {
  const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
  expect(ports.length).toBeGreaterThan(0);
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});
