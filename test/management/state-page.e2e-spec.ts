import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { issueKey } from '../support/keys.js';
import { Proxy } from '../support/proxy.js';
import { type RunningService, until } from '../support/service.js';
import { version } from '../../src/telemetry/version.js';
import { testFolder } from '../support/test-folder.js';
import { testWorld } from '../support/test-world.js';

const world = testWorld();
const MOMENT = new Date(Date.now() + 3_600_000).toISOString();
let proxy: Proxy;
const LAST_GOOD_FOLDER = testFolder();
let service: RunningService;

const start = (environment: Record<string, string> = {}): Promise<RunningService> =>
  world.start({ DATABASE_URL: proxy.url, ...environment });
/** What people read: a line for each row. */
async function shown({ managementUrl } = service): Promise<string> {
  const response = await fetch(managementUrl);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('refresh')).toBe('10');
  const page = await response.text();
  expect(page).not.toMatch(new RegExp(`<script|<b>|${world.key.key}|${world.token}|postgres:`));
  return page
    .replace(/^.*<main>/s, '')
    .replaceAll(/<td>|(<th[^>]*>)/g, ' | ')
    .replaceAll(/<[^>]+>/g, '');
}

beforeAll(async () => {
  proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
  const expiresAt = new Date(Date.now() + 3.5 * 86_400_000).toISOString();
  await issueKey(world.database, { client: `<b>"&'`, expiresAt });
  await world.database.query(
    `insert into communication_code values ('T', 'C', 'Sample', '${MOMENT}')`,
  );
  service = await start({ LAST_GOOD_FOLDER });
  await service.ready();
});
afterAll(() => proxy?.close());

it('shows people the state of a replica at /', async () => {
  const rows = [
    / \| Codes \| 72, since \S+ \S+ UTC \| \d s ago \| never/,
    / \| API keys \| 2, since .* \| \d s ago \| 15 min/,
  ];
  let text = '';
  await until(async () => {
    text = await shown();
    return rows.every((row) => row.test(text)); // not where the machine was away for ten seconds
  });
  expect(text).toContain('\nOrder Lookup Services: ready\n');
  expect(text).toContain(`\n | Version | ${version} |`);
  expect(text).toContain('\n | Database | answers |');
  expect(text).toContain(`Signing keys of ${world.issuer.url} | 3 | `);
  expect(text).toContain(` codes | ${MOMENT.replace('T', ' ').replace(/\..*/, ' UTC')}`);
  expect(text).toMatch(/\| &#60;b&#62;&#34;&#38;&#39;, [\da-f-]{36} \| ! [34] days/);
});

it('shows what is refused, what is away, and what is served from LAST_GOOD_FOLDER', async () => {
  await until(async () => (await service.metric('order_lookup_last_good_writes_total')) >= 2);
  const shows = (text: RegExp, replica = service): Promise<void> =>
    until(async () => text.test(await shown(replica)));
  const remove = `delete from area_property where area = 'order-update'`;
  await world.database.query(remove);
  await shows(/: ready\s+! The codes in the database cannot be served: .*order-update/);
  await shows(/not ready\s+! The codes in the database cannot[^!]*\| Version/, await start());
  proxy.mode = 'refuse';
  proxy.cut();
  await shows(/: ready[^]* Database \| ! does not answer/);
  world.issuer.fault = 'down';
  await shows(
    /: ! not ready\s+! The codes have not .*\n! The list .*\n! No signing keys[^]* Codes \| ! none \| ! never \| ! now\n[^]* API keys \| ! none \| ! never \| ! now\n/,
    await start(),
  );
  await shows(
    /72, since .*, from LAST_GOOD_FOLDER[^]* API keys \| ! 2, since .*, from LAST_GOOD_FOLDER/,
    await start({ LAST_GOOD_FOLDER }),
  );
});
