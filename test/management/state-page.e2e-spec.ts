import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { version } from '../../src/telemetry/version.js';
import { issueKey } from '../support/keys.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { Proxy } from '../support/proxy.js';
import { testFolder } from '../support/test-folder.js';
import { until } from '../support/until.js';

const world = localWorld({ replicas: 0 });
const LAST_GOOD_FOLDER = testFolder();
const DAY_MS = 86_400_000;
const MOMENT = new Date(Date.now() + 3_600_000).toISOString();
const CLIENT = `<b>"&'`;
const ESCAPED_CLIENT = '&lt;b&gt;&quot;&amp;&#39;';
let proxy: Proxy;
let service: LocalService;

const start = (environment: Record<string, string> = {}): Promise<LocalService> =>
  world.start({ DATABASE_URL: proxy.url, ...environment });

/** What people read: a line for each row, with | between its cells and * around a warning. */
async function shown({ managementUrl } = service): Promise<string> {
  const response = await fetch(managementUrl);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('refresh')).toBe('10');
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
  const page = await response.text();
  for (const text of ['<script', '<b>', 'postgres:', world.key.key, world.token]) expect(page).not.toContain(text);
  const main = page.slice(page.indexOf('<main>'), page.indexOf('</main>'));
  return main
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<\/?strong>/g, '*')
    .replaceAll(/<\/t[hd]> ?<t[hd][^>]*>/g, ' | ')
    .replaceAll(/<\/(tr|h1|p)>/g, '\n')
    .replaceAll(/ ?<[^>]+> ?/g, '');
}

const shows = (text: RegExp, replica = service): Promise<void> => until(async () => text.test(await shown(replica)));

beforeAll(async () => {
  proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
  const expiresAt = new Date(Date.now() + 3.5 * DAY_MS).toISOString();
  await issueKey(world.database, { client: CLIENT, expiresAt });
  await world.database.query(`insert into communication_code values ('T', 'C', 'Sample', '${MOMENT}')`);
  service = await start({ LAST_GOOD_FOLDER });
  await service.ready();
});
afterAll(() => proxy?.close());

it('shows people the state of a replica at /', async () => {
  const issuer = world.issuer.url;
  const rows = [
    /^Order Lookup Services: ready$/m,
    /^Codes \| current \| 72 rows of all moments; since \S+ \S+ UTC \| \d s ago \| never$/m,
    /^API keys \| current \| 2 keys, with those that have ended; since \S+ \S+ UTC \| \d s ago \| 15 min$/m,
    new RegExp(`^Signing keys of ${issuer} \\| current \\| 3 keys \\| \\d+ s ago \\| 24 h$`, 'm'),
    new RegExp(`^Version \\| ${version}$`, 'm'),
    /^Database \| answers$/m,
    new RegExp(`^Next moment of the codes \\| ${MOMENT.slice(0, 10)} ${MOMENT.slice(11, 19)} UTC$`, 'm'),
    /^API keys that end within 14 days \| 1$/m,
    new RegExp(`^${ESCAPED_CLIENT}, [\\da-f-]{36} \\| \\*ends in [34] days\\*$`, 'm'),
  ];
  for (const row of rows) await shows(row); // a machine that was away shows greater ages
});

it('shows what is refused, what is away, and what is served from LAST_GOOD_FOLDER', async () => {
  await until(async () => (await service.metric('order_lookup_last_good_writes_total')) >= 3);
  const remove = `delete from area_property where area = 'order-update'`;
  await world.database.query(remove);
  const refusal = /^\*The codes in the database cannot be served: .*order-update.*\*$/m;
  await shows(refusal);
  await shows(/^Codes \| \*unservable-former-served\* \| 72 rows /m);
  expect(await shown()).toMatch(/^Order Lookup Services: ready$/m);
  const withoutCodes = await start();
  await shows(refusal, withoutCodes);
  expect(await shown(withoutCodes)).toMatch(/^Order Lookup Services: \*not ready\*$/m);

  proxy.mode = 'refuse';
  proxy.cut();
  await shows(/^Database \| \*does not answer\*$/m);
  expect(await shown()).toMatch(/^Order Lookup Services: ready$/m);

  world.issuer.fault = 'down';
  const empty = await start();
  await shows(/^API keys \| \*unreachable\* \| \*none\* \| \*never\* \| \*now\*$/m, empty);
  const page = await shown(empty);
  expect(page).toMatch(/^Codes \| \*unreachable\* \| \*none\* \| \*never\* \| \*now\*$/m);
  expect(page).toMatch(/^Signing keys of \S+ \| \*waiting\* \| \*none\* \| \*never\* \| \*now\*$/m);
  expect(page).toMatch(/^\*The codes have not .*\*\n\*The list .*\*\n\*No signing keys .*\*$/m);

  const restored = await start({ LAST_GOOD_FOLDER });
  await shows(/^Codes \| \*restored\* \| 72 rows /m, restored);
  await shows(/^API keys \| \*restored\* \| 2 keys/m, restored);
  await shows(/^Signing keys of \S+ \| \*restored\* \| 3 keys \| /m, restored);
});
