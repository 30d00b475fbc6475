import { Controller, Get, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { Public } from '../auth/public.decorator.js';
import { Configuration } from '../configuration/configuration.js';
import type { Answer } from '../http/answer.js';
import { plainPage } from './page.js';

/**
 * The page at `/` and at BASE_PATH, without credentials and whatever Accept says: for people who type the address of
 * the service into a browser, and for balancers, many of which ask there for a 200.
 */
@Public()
@Controller()
export class EntranceController implements OnModuleInit {
  private readonly page: Answer;

  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    const { baseAddress, DOCUMENTATION } = configuration;
    const links = `<ul>
        <li><a href="${baseAddress}/docs">Documentation</a></li>
        <li><a href="${baseAddress}/openapi.json">OpenAPI 3.1</a></li>
        <li><a href="${baseAddress}/openapi-3.0.json">OpenAPI 3.0, for gateways that know no other</a></li>
      </ul>`;
    const about = '<p>This service tells programs which codes an order may hold.</p>';
    this.page = plainPage('Order Lookup Services', DOCUMENTATION === 'on' ? `${about}\n      ${links}` : about);
  }

  /**
   * Nest puts BASE_PATH before every route of a controller, so `/` is given to Express itself: here, since middleware is
   * registered before this hook and the 404 behind it.
   */
  onModuleInit(): void {
    if (this.configuration.BASE_PATH === '') return;
    this.adapterHost.httpAdapter.get('/', (request: Request, response: Response) => {
      this.page.sendTo(request, response);
    });
  }

  @Get()
  show(): Answer {
    return this.page;
  }
}
