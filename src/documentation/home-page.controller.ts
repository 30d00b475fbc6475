import { Controller, Get } from '@nestjs/common';
import { Public } from '../auth/public.decorator.js';
import { Configuration } from '../configuration/configuration.js';
import type { Answer } from '../http/answer.js';
import { createPlainPage } from './page.js';

/**
 * The page at `/` and at BASE_PATH. It is public, because people type these addresses into a browser. Many balancers
 * also request these addresses, and expect 200.
 */
@Public()
@Controller()
export class HomePageController {
  private readonly page: Answer;

  constructor({ baseAddress, DOCUMENTATION }: Configuration) {
    const links = `<ul>
        <li><a href="${baseAddress}/docs">Documentation</a></li>
        <li><a href="${baseAddress}/openapi.json">OpenAPI 3.1</a></li>
        <li><a href="${baseAddress}/openapi-3.0.json">OpenAPI 3.0, for gateways that cannot read 3.1</a></li>
      </ul>`;
    const about = '<p>This service tells programs which codes an order may contain.</p>';
    this.page = createPlainPage('Order Lookup Services', DOCUMENTATION === 'on' ? `${about}\n      ${links}` : about);
  }

  @Get()
  show(): Answer {
    return this.page;
  }
}
