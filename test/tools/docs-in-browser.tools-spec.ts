import { existsSync, mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
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
    world = await World.create({ OAUTH_ISSUER: url, PORT, BASE_PATH });
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
    page.setDefaultTimeout(60_000);
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

  it.each([1200, 390])('fits a screen %i pixels wide', async (width) => {
    const { page, complaints } = await open({ viewport: { width, height: 900 } });
    const scrolled = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(scrolled).toBeLessThanOrEqual(width);
    await page.screenshot({ path: join(OUTPUT, `docs-${width}.png`) });
    expect(complaints).toEqual([]);
  });
});
