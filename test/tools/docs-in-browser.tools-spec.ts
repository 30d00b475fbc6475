import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { makeSigningKey, serveIssuer } from '../../src/demo/issuer.js';
import { fetchReply } from '../support/exchange.js';
import { AUDIENCE } from '../support/issuer.js';
import { ALL_PATHS } from '../support/paths.js';
import { findFreePort, listen } from '../support/ports.js';
import { PROJECT } from '../support/program.js';
import { World } from '../support/world.js';

const CHROMIUM = '/usr/bin/chromium';
const OUTPUT = join(PROJECT, 'test', 'output');
const BASE_PATH = '/lookups';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A script that returns the serious and critical findings of axe. */
const SERIOUS_FINDINGS = `axe.run().then(({ violations }) =>
  violations
    .filter(({ impact }) => /serious|critical/.test(impact))
    .map(({ id, nodes }) => ({ id, found: nodes.map(({ html }) => html) })))`;
async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  expect(await page.evaluate(SERIOUS_FINDINGS)).toEqual([]);
}

/** A script that returns the width of the page, including parts to which people have to scroll. */
const PAGE_WIDTH = 'document.documentElement.scrollWidth';

let browser: Browser;
let issuerUrl: string;
const issuer = createServer();
let world: World;

if (!existsSync(CHROMIUM)) process.stderr.write(`SKIPPED: the pages in a browser need ${CHROMIUM}.\n`);
const itInBrowser = existsSync(CHROMIUM) ? it : it.skip;

beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  const host = '127.0.0.1';
  const PORT = String(await findFreePort());
  issuerUrl = `http://${host}:${await listen(issuer)}`;
  await serveIssuer(issuer, {
    url: issuerUrl,
    signingKey: await makeSigningKey(),
    audience: AUDIENCE,
    scopes: '',
    machine: { id: 'program', secret: 'tests-only' },
    redirectUris: [`http://${host}:${PORT}${BASE_PATH}/docs/oauth2-redirect.html`],
  });
  world = await World.create({
    OAUTH_ISSUER: issuerUrl,
    OAUTH_TOKEN_TYPE: 'at+jwt',
    PORT,
    BASE_PATH,
    PUBLIC_BASE_URL: 'https://orders.example.com', // /docs must not call this host, from which it did not come
  });
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
});

afterAll(async () => {
  await browser?.close();
  await world?.close();
  issuer.closeAllConnections();
  issuer.close();
});

/** Opens /docs. Collects the complaints of the browser, and requests to other hosts. */
async function openDocs(options: BrowserContextOptions): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(0); // the runner has its own time limit
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) complaints.push(request.url());
  });
  await page.goto(`${world.service.url}${BASE_PATH}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).first().waitFor();
  return { page, complaints };
}

itInBrowser('/docs lets a person enter a key, sign in, and call each operation at the host of the page', async () => {
  const { page, complaints } = await openDocs({ viewport: { width: 1280, height: 1000 } });
  await page.getByText('press Authorize, enter your API key').waitFor();
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const dialog = page.locator('.dialog-ux');
  // One form for the API key, one to sign in, one for a pasted token. A page cannot use client_credentials
  expect(await dialog.locator('.auth-container').count()).toBe(3);
  await page.screenshot({ path: join(OUTPUT, 'docs-sign-in.png') });
  await dialog.locator('input[type="text"], input[type="password"]').first().fill(world.key.key);
  await dialog.getByRole('button', { name: 'Apply credentials' }).first().click();
  await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
  await dialog.getByRole('button', { name: 'Remove authorization' }).nth(1).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  const operations = await page.locator('.opblock').all();
  expect(operations).toHaveLength(ALL_PATHS.length);
  for (const operation of operations) {
    await operation.locator('.opblock-summary-control').click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    const status = operation.locator('.live-responses-table .response-col_status');
    await status.filter({ hasText: '200' }).waitFor();
  }
  await page.screenshot({ path: join(OUTPUT, 'docs-operations.png'), fullPage: true });
  expect(complaints).toEqual([]);
});

async function fetchToken(): Promise<string> {
  const Authorization = `Basic ${Buffer.from('program:tests-only').toString('base64')}`;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const { text } = await fetchReply(`${issuerUrl}/token`, { method: 'POST', headers: { Authorization }, body });
  const { access_token: token } = JSON.parse(text) as { access_token: string };
  return token;
}

itInBrowser('/docs has a field for the access token of a program, and sends this token with a call', async () => {
  const { page, complaints } = await openDocs({ viewport: { width: 1280, height: 1000 } });
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const dialog = page.locator('.dialog-ux');
  for (const [scheme, value] of [
    ['apiKey', world.key.key],
    ['pastedAccessToken', await fetchToken()],
  ] as const) {
    const container = dialog.locator('.auth-container').filter({ hasText: scheme });
    await container.locator('input').fill(value);
    await container.getByRole('button', { name: 'Apply credentials' }).click();
  }
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  const operation = page.locator('.opblock').first();
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const status = operation.locator('.live-responses-table .response-col_status');
  await status.filter({ hasText: '200' }).waitFor();
  expect(complaints).toEqual([]);
});

itInBrowser.each([
  { colorScheme: 'light', width: 1200 },
  { colorScheme: 'light', width: 390 },
  { colorScheme: 'dark', width: 1200 },
  { colorScheme: 'dark', width: 390 },
] as const)(
  'in $colorScheme colours, the pages for people are accessible, and fit a screen $width pixels wide',
  async ({ colorScheme, width }) => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    for (const path of ['', '/problems/missing-credentials']) {
      await page.goto(`${world.service.url}${BASE_PATH}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate(PAGE_WIDTH)).toBeLessThanOrEqual(width);
      await expectAccessible(page);
    }
    await page.screenshot({ path: join(OUTPUT, `page-${colorScheme}-${width}.png`) });
  },
);
