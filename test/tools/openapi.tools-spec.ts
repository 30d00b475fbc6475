import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import newman, { type NewmanRunOptions, type NewmanRunSummary } from 'newman';
import { convertV2 as convertToPostman } from 'openapi-to-postmanv2';
import type { CollectionDefinition } from 'postman-collection';
import { fetchReply } from '../support/exchange.js';
import { readBlocks } from '../support/pages.js';
import { listen } from '../support/ports.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { shell, readText } from '../support/program.js';
import { useTestFolder } from '../support/test-folder.js';
import { processWorld } from '../support/test-world.js';

const SAMPLE = `insert into communication_code values ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: confirmed')`;
const world = processWorld({ prepare: (database) => database.query(SAMPLE) });
const folder = useTestFolder();
/** The time limit of a command in docs/integrators.md. The command may install packages. */
const INSTALLATION_LIMIT_MS = 600_000;

it.each([
  { name: 'openapi.yaml', source: () => readText('src/documentation/openapi.yaml') },
  { name: '/openapi.json', source: () => JSON.stringify(world.contract?.document) },
  {
    name: '/openapi-3.0.json',
    source: async () => (await fetchReply(`${world.service.url}/openapi-3.0.json`)).text,
    rules: { 'info-license-strict': 'off' as const }, // OpenAPI 3.0 needs the licence's address, and ours has none
  },
])("$name passes Redocly's recommended rules", async ({ source, rules }) => {
  const config = await createConfig({ extends: ['recommended'], rules: rules ?? {} });
  const problems = await lintFromString({ source: await source(), config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
});

interface PostmanItem {
  readonly item?: readonly PostmanItem[];
  readonly request?: { readonly url: { readonly path: readonly string[]; readonly query: readonly PostmanPair[] } };
}
interface PostmanPair {
  readonly key: string;
  readonly value: string;
}
interface PostmanCollection extends PostmanItem {
  readonly auth: { readonly type: string; readonly oauth2?: readonly PostmanPair[] };
}

/** Imports the contract as Postman does, with the setting of docs/integrators.md. */
async function importIntoPostman(document: object): Promise<PostmanCollection> {
  const convert = promisify(convertToPostman);
  const result = await convert({ type: 'string', data: JSON.stringify(document) }, { parametersResolution: 'Example' });
  const [collection] = result?.output ?? [];
  if (!collection) throw new Error(result?.reason);
  return collection.data as PostmanCollection;
}

function listRequests({ item = [], request }: PostmanItem): NonNullable<PostmanItem['request']>[] {
  return [...(request ? [request] : []), ...item.flatMap(listRequests)];
}

it('Postman imports each operation with example filters, and the way to get a token by client id and secret', async () => {
  const collection = await importIntoPostman(world.contract?.document ?? {});
  const requests = listRequests(collection);
  expect(requests.map(({ url }) => `/${url.path.join('/')}`)).toEqual(ALL_PATHS);
  const filters = requests.flatMap(({ url }) => url.query.map(({ key, value }) => `${key}=${value}`));
  expect(filters).toEqual(['codeType=SAMPLE-APPOINTMENT', 'code=CONFIRMED']);
  expect(collection.auth.type).toBe('oauth2');
  expect(collection.auth.oauth2).toContainEqual(
    expect.objectContaining({ key: 'grant_type', value: 'client_credentials' }),
  );
});

it('the collection of docs/integrators.md gets 200 for each operation if only its variables are set', async () => {
  const text = readText('docs/order-lookup-services.postman_collection.json');
  const collection = JSON.parse(text) as CollectionDefinition;
  const values = new Map([
    ['baseUrl', world.service.url],
    ['apiKey', world.key.key],
    ['token', world.token],
  ]);
  for (const variable of collection.variable ?? []) variable.value = values.get(variable.key ?? '');
  const run: (options: NewmanRunOptions) => Promise<NewmanRunSummary> = promisify(newman.run);
  const { executions } = (await run({ collection })).run;
  const results = executions.map(({ request, response }) => [request.url.getPath(), response.code]);
  expect(results).toEqual(ALL_PATHS.map((path) => [path, 200]));
});

describe('in an empty folder, as in docs/integrators.md,', () => {
  const blocks = readBlocks('docs/integrators.md').filter(({ heading }) => heading === 'A typed client');
  // The blocks come in the order of the page
  const [generate = '', program = '', compileAndRun = '', python = ''] = blocks.map(({ text }) => text);
  const stdout = 'CONFIRMED Sample: confirmed\n';
  const here = (command: string, environment: Record<string, string> = {}) =>
    shell(
      command,
      folder,
      { API: world.service.url, KEY: world.key.key, TOKEN: world.token, ...environment },
      INSTALLATION_LIMIT_MS,
    );
  /** A gateway whose service does not run. */
  const gateway = createServer((_request, response) => {
    response.writeHead(502, { 'Content-Type': 'text/html' }).end('<html>502 Bad Gateway</html>');
  });
  /** A server that is closed, so that nobody listens at its address. */
  const nobody = createServer();
  const at = (port: number): Record<string, string> => ({ API: `http://127.0.0.1:${port}` });
  const ports = { gateway: 0, nobody: 0 };

  beforeAll(async () => {
    ports.gateway = await listen(gateway);
    ports.nobody = await listen(nobody);
    nobody.close();
    expect(await here(generate)).toMatchObject({ status: 0 });
    writeFileSync(join(folder, 'codes.ts'), program);
    writeFileSync(join(folder, 'codes.py'), python);
    expect(await here(compileAndRun)).toMatchObject({ status: 0, stdout });
  });
  afterAll(() => void gateway.close());

  it('the Python client prints the same codes as the TypeScript client', async () => {
    expect(await here('python3 codes.py')).toMatchObject({ status: 0, stdout });
  });

  it('the TypeScript client accepts a 304', async () => {
    const { headers } = await world.get(`${PATHS.communicationCodes}?codeType=SAMPLE-DELIVERY`);
    const ETAG = headers.get('etag') ?? '';
    expect(await here('node codes.js', { ETAG })).toMatchObject({ status: 0, stdout: 'unchanged\n' });
    expect(await here('node codes.js', { ETAG: '"of-before"' })).toMatchObject({ status: 0, stdout });
  });

  describe.each([
    {
      client: 'node codes.js',
      sentences: [/^401 .*Api-Key is not valid\./s, /^502 Bad Gateway \n$/, /^No answer: ECONNREFUSED\n$/],
    },
    {
      client: 'python3 codes.py',
      sentences: [/^invalid-credentials: .+\n$/, /^502 Bad Gateway\n$/, /^No answer: .*refused.*\n$/],
    },
  ])('$client ends with status 1 and a sentence', ({ client, sentences }) => {
    it.each([
      { where: 'a key is not valid', environment: () => ({ KEY: 'wrong' }), sentence: sentences[0] },
      { where: 'a gateway answers', environment: () => at(ports.gateway), sentence: sentences[1] },
      { where: 'nobody answers', environment: () => at(ports.nobody), sentence: sentences[2] },
    ])('if $where', async ({ environment, sentence }) => {
      const { stderr, ...rest } = await here(client, environment());
      expect(stderr).toMatch(sentence as RegExp);
      expect(rest).toEqual({ status: 1, stdout: '' });
    });
  });

  it('the TypeScript client can also be generated from the contract in OpenAPI 3.0', async () => {
    const [makeTypes = ''] = /^npx openapi-typescript .*$/m.exec(generate) ?? [];
    const fromOlder = makeTypes.replace('openapi.json', 'openapi-3.0.json');
    expect(await here(`rm codes.js order-lookups.d.ts && ${fromOlder}`)).toMatchObject({ status: 0 });
    expect(await here(compileAndRun)).toMatchObject({ status: 0, stdout });
  });
});
