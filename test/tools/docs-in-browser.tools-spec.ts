import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { startIssuer } from '../../src/demo/issuer.js';
import { AUDIENCE } from '../support/issuer.js';
import { freePort } from '../support/postgres-server.js';
import { PROJECT } from '../support/program.js';
import { World } from '../support/world.js';

const CHROMIUM = '/usr/bin/chromium';
const OUTPUT = join(PROJECT, 'test', 'output');
const BASE_PATH = '/lookups';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** What axe finds on a page, but for what it calls minor or moderate. */
const SERIOUS = `axe.run().then(({ violations }) => violations.filter(({ impact }) => /serious|critical/.test(impact)).map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`;
async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE);
  expect(await page.evaluate(SERIOUS)).toEqual([]);
}

let browser: Browser;
let issuer: Server;
let world: World;

const describeInBrowser = existsSync(CHROMIUM) ? describe : describe.skip;

describeInBrowser('the documentation page in a browser', () => {
  beforeAll(async () => {
    mkdirSync(OUTPUT, { recursive: true });
    const [PORT, port] = [String(await freePort()), await freePort()];
    const [host, url] = ['127.0.0.1', `http://127.0.0.1:${port}`];
    const machine = { id: 'program', secret: 'tests-only' };
    const redirectUris = [`http://${host}:${PORT}${BASE_PATH}/docs/oauth2-redirect.html`];
    const options = { url, host, port, audience: AUDIENCE, scopes: '', machine, redirectUris };
    issuer = await startIssuer(options);
    world = await World.create({ OAUTH_ISSUER: url, OAUTH_TOKEN_TYPE: 'at+jwt', PORT, BASE_PATH });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });

  afterAll(async () => {
    await browser?.close();
    await world?.close();
    issuer?.closeAllConnections();
    issuer?.close();
  });

  /** Opens the page, and collects what the browser complains about, and questions to other hosts. */
  async function open(
    options: BrowserContextOptions,
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage(options);
    page.setDefaultTimeout(0); // the limit of time is that of the runner
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

  it('lets a person enter a key, sign in, and call each operation, which fits on 1,000 pixels', async () => {
    const { page, complaints } = await open({ viewport: { width: 1280, height: 1000 } });
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input[type="text"], input[type="password"]').first().fill(world.key.key);
    await dialog.getByRole('button', { name: 'Apply credentials' }).first().click();
    await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
    await dialog.getByRole('button', { name: 'Remove authorization' }).nth(1).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    const operations = await page.locator('.opblock').all();
    expect(operations).toHaveLength(3);
    for (const operation of operations) {
      await operation.locator('.opblock-summary-control').click();
      const execute = operation.getByRole('button', { name: 'Execute' });
      await execute.waitFor();
      expect((await operation.boundingBox())?.height).toBeLessThanOrEqual(1_000);
      await page.screenshot({ path: join(OUTPUT, 'docs-operation.png'), fullPage: true });
      await execute.click();
      const status = operation.locator('.live-responses-table .response-col_status');
      await status.filter({ hasText: '200' }).waitFor();
    }
    expect(complaints).toEqual([]);
  });

  it.each(
    ['light', 'dark'].flatMap((scheme) => [1200, 390].map((width) => [scheme, width] as const)),
  )('is accessible, %s, and fits a screen %i pixels wide', async (scheme, width) => {
    const colorScheme = scheme as 'light' | 'dark';
    const { page, complaints } = await open({ viewport: { width, height: 900 }, colorScheme });
    const scrolled = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(scrolled).toBeLessThanOrEqual(width);
    await page.screenshot({ path: join(OUTPUT, `docs-${scheme}-${width}.png`) });
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.dialog-ux');
    // The key, and the sign-in of a person; a page cannot use the grant of programs
    expect(await dialog.getByRole('button', { name: 'Authorize' }).count()).toBe(2);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Close' }).first().click();
    await page.locator('.opblock-summary-control').first().click();
    await page.getByRole('button', { name: 'Execute' }).click();
    const type = page.locator('.live-responses-table .microlight a');
    await type.waitFor();
    await expectAccessible(page);
    await page.screenshot({ path: join(OUTPUT, `docs-error-${scheme}-${width}.png`) });
    expect(await type.getAttribute('href')).toBe(`${BASE_PATH}/problems/missing-credentials`);
    expect(complaints).toEqual([expect.stringContaining('401')]); // what the browser says of the error
    for (const path of ['/problems/missing-credentials', '/problems', '/problems/typo', '']) {
      await page.goto(`${world.service.url}${BASE_PATH}${path}`);
      await expectAccessible(page);
    }
  });
});
