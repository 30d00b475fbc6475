import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, type Page, chromium } from 'playwright-core';
import { type LocalIssuer, startIssuer } from '../../src/demo/issuer.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { issueKey } from '../support/keys.js';
import { freePort } from '../support/postgres-server.js';
import { PROJECT } from '../support/program.js';
import { RunningService } from '../support/service.js';
import { SAMPLES } from '../support/world.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);
const OUTPUT = join(PROJECT, 'test', 'output');
const BASE_PATH = '/lookups';
const AUDIENCE = 'https://orders.example';

let browser: Browser;
let issuer: LocalIssuer;
let database: TestDatabase;
let service: RunningService;
let key: string;

if (!CHROMIUM)
  process.stderr.write(
    'SKIPPED: the test of the documentation page needs chromium, and there is none.\n',
  );
const describeInBrowser = CHROMIUM ? describe : describe.skip;

describeInBrowser('the documentation page in a browser', () => {
  beforeAll(async () => {
    mkdirSync(OUTPUT, { recursive: true });
    const [port, issuerPort] = [await freePort(), await freePort()];
    const issuerUrl = `http://127.0.0.1:${issuerPort}`;
    issuer = await startIssuer({
      url: issuerUrl,
      host: '127.0.0.1',
      port: issuerPort,
      audience: AUDIENCE,
      scopes: '',
      machine: { id: 'program', secret: 'tests-only' },
      redirectUris: [`http://127.0.0.1:${port}${BASE_PATH}/docs/oauth2-redirect.html`],
    });
    database = await createDatabase();
    await database.query(SAMPLES);
    ({ key } = await issueKey(database));
    service = await RunningService.start({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      OAUTH_ISSUER: issuerUrl,
      OAUTH_AUDIENCE: AUDIENCE,
      PORT: String(port),
      BASE_PATH,
    });
    await service.ready();
    browser = await chromium.launch({
      executablePath: CHROMIUM ?? '',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });

  afterAll(async () => {
    await browser?.close();
    await service?.kill();
    issuer?.close();
    await database?.drop();
  });

  /** Opens the page, and collects what the browser complains about. */
  async function open(
    options: Parameters<Browser['newPage']>[0] = {},
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage(options);
    page.setDefaultTimeout(60_000);
    const complaints: string[] = [];
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on(
      'request',
      (request) =>
        new URL(request.url()).hostname !== '127.0.0.1' &&
        !request.url().startsWith('data:') &&
        complaints.push(`asks ${request.url()}`),
    );
    await page.goto(`${service.url}${BASE_PATH}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).first().waitFor();
    return { page, complaints };
  }

  it('lets a person enter a key, sign in, and call each operation', async () => {
    const { page, complaints } = await open({ viewport: { width: 1280, height: 1000 } });
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input[type="text"], input[type="password"]').first().fill(key);
    await dialog.getByRole('button', { name: 'Apply credentials' }).first().click();
    await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
    await dialog.getByRole('button', { name: 'Remove authorization' }).nth(1).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    const operations = page.locator('.opblock');
    expect(await operations.count()).toBe(3);
    const heights: number[] = [];
    for (const operation of await operations.all()) {
      await operation.locator('.opblock-summary-control').click();
      const execute = operation.getByRole('button', { name: 'Execute' });
      await execute.waitFor();
      await operation.scrollIntoViewIfNeeded();
      await page.screenshot({ path: join(OUTPUT, 'docs-operation.png'), fullPage: true });
      heights.push(Math.round((await operation.boundingBox())?.height ?? NaN));
      await execute.click();
      await operation
        .locator('.live-responses-table .response-col_status')
        .filter({ hasText: '200' })
        .waitFor();
    }
    expect(heights.filter((height) => !(height <= 1_000))).toEqual([]);
    await operations.nth(2).scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(OUTPUT, 'docs-signed-in.png') });
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)('fits a %s screen %i pixels wide', async (colorScheme, width) => {
    const { page, complaints } = await open({ colorScheme, viewport: { width, height: 900 } });
    const background = await page.evaluate<string>(
      'getComputedStyle(document.body).backgroundColor',
    );
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgba(0, 0, 0, 0)');
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      width,
    );
    await page.screenshot({ path: join(OUTPUT, `docs-${colorScheme}-${width}.png`) });
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('shows what a problem type means', async () => {
    const page = await browser.newPage({ viewport: { width: 800, height: 900 } });
    await page.goto(`${service.url}${BASE_PATH}/problems/invalid-query`);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'A query parameter is not valid',
    );
    await page.screenshot({ path: join(OUTPUT, 'problem-page.png') });
    await page.close();
  });
});
