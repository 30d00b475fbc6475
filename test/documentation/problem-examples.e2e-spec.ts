// The examples on the problem pages and in the OpenAPI document are real replies. This provokes one of each type from the real program and
// compares it with the example; `npm run examples` writes the examples anew.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { problemExamples } from '../../src/documentation/openapi/problem-examples.js';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { PATHS } from '../support/paths.js';
import { PROJECT } from '../support/program.js';
import { exchange } from '../support/raw.js';
import { RunningService, until } from '../support/service.js';
import { World } from '../support/world.js';

const FILE = 'src/documentation/openapi/problem-examples.json';
const SCOPE = 'orders:read';
const { orderUpdate, communicationCodes } = PATHS;

let world: World;
const started: RunningService[] = [];
beforeAll(async () => {
  world = await World.create();
});
afterAll(async () => {
  await Promise.all(started.map((service) => service.kill()));
  await world?.close();
});

type Headers = Record<string, string>;

/** Another service on the same database. `sabotage` is a module that breaks a part of it from inside. */
async function start(environment: Headers, sabotage?: string): Promise<RunningService> {
  const options: Headers = sabotage
    ? { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(sabotage)}` }
    : {};
  const service = await RunningService.start({
    DATABASE_URL: world.database.urlOf('order_lookup_service'),
    ...world.issuer.environment,
    ...environment,
    ...options,
  });
  started.push(service);
  return service;
}

const partOf = (path: string): string => JSON.stringify(`file://${join(PROJECT, 'dist', path)}`);

async function get(url: string, path: string, headers: Headers = {}): Promise<string> {
  const valid = { 'Api-Key': world.key.key, Authorization: `Bearer ${world.token}` };
  return (await fetch(url + path, { headers: { ...valid, ...headers } })).text();
}

const raw = async (lines: string[]): Promise<string> => {
  const request = [`GET ${orderUpdate} HTTP/1.1`, 'Host: orders.example', ...lines];
  const { responses } = await exchange(world.service.port, request.join('\r\n'), { answers: 1 });
  return responses[0]?.text ?? '';
};

const replies: Record<ProblemSlug, () => Promise<string>> = {
  'malformed-request': () => raw(['Api-Key: one', 'Api-Key: two', '', '']),
  'invalid-query': () => get(world.service.url, `${communicationCodes}?codetype=USAGE&code=`),
  'missing-credentials': async () => (await fetch(world.service.url + orderUpdate)).text(),
  'invalid-credentials': () => get(world.service.url, orderUpdate, { Authorization: 'Bearer x' }),
  'insufficient-scope': async () => {
    const service = await start({ OAUTH_REQUIRED_SCOPE: SCOPE });
    await service.ready();
    return get(service.url, orderUpdate);
  },
  'not-found': () => get(world.service.url, `${communicationCodes}/`),
  'method-not-allowed': async () =>
    (await fetch(world.service.url + orderUpdate, { method: 'DELETE' })).text(),
  'request-timeout': () => raw([]),
  'uri-too-long': () => get(world.service.url, `${communicationCodes}?code=${'x'.repeat(8_000)}`),
  'headers-too-large': () => get(world.service.url, orderUpdate, { 'X-Large': 'x'.repeat(17_000) }),
  'too-many-requests': async () => {
    const service = await start({ RATE_LIMIT_PER_MINUTE: '1' });
    await service.ready();
    await get(service.url, orderUpdate);
    return get(service.url, orderUpdate);
  },
  'internal-error': async () => {
    const service = await start(
      {},
      `const { CodesService } = await import(${partOf('codes/codes.service.js')});
       CodesService.prototype.supportedValues = () => { throw new Error('broken by a test'); };`,
    );
    await service.ready();
    return get(service.url, orderUpdate);
  },
  'not-ready': async () => {
    const service = await start(
      {},
      `const { FollowedSnapshot } = await import(${partOf('snapshots/followed-snapshot.js')});
       const { follow } = FollowedSnapshot.prototype;
       FollowedSnapshot.prototype.follow = function () { if (this.topic === 'keys') return follow.call(this); };`,
    );
    let text = '';
    await until(async () => {
      text = await get(service.url, orderUpdate);
      return text.includes('/problems/not-ready');
    });
    return text;
  },
  // Sent by the nginx in front of the service: test/deploy/nginx
  overloaded: () => Promise.resolve(JSON.stringify(problemExamples.overloaded)),
  'cannot-verify-credentials': async () => {
    const service = await start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    return get(service.url, orderUpdate);
  },
};

/** What differs in each occurrence is as in the examples. */
const example = (text: string): unknown => ({
  ...(JSON.parse(text) as object),
  instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
  dateTime: '2026-11-21T09:30:00.000Z',
});

it('an example of each problem type is what the service sends', async () => {
  const slugs = Object.keys(problemTypes) as ProblemSlug[];
  const texts = await Promise.all(slugs.map((slug) => replies[slug]()));
  const sent = Object.fromEntries(slugs.map((slug, at) => [slug, example(texts[at] ?? '')]));
  if (process.env['WRITE_EXAMPLES'])
    writeFileSync(join(PROJECT, FILE), `${JSON.stringify(sent, null, 2)}\n`);
  else expect(problemExamples).toEqual(sent);
});
