import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Configuration } from '../../configuration/configuration.js';
import { Page } from '../../http/page.js';
import { Problem } from '../../problems/problem.js';
import { Public } from '../public.decorator.js';
import { WELL_KNOWN, metadataAddress, metadataOf } from './protected-resource.js';

/** Protected resource metadata, outside of BASE_PATH: RFC 9728 puts it between host and path. */
@ApiExcludeController()
@Public()
@Controller(`${WELL_KNOWN}{/*path}`)
export class ProtectedResourceController {
  private readonly path: string | undefined;
  private readonly page: Page;

  constructor(configuration: Configuration) {
    const address = metadataAddress(configuration);
    this.path = address?.split(WELL_KNOWN)[1];
    this.page = new Page(
      'application/json',
      Buffer.from(JSON.stringify(metadataOf(configuration))),
    );
  }

  @Get()
  show(@Param('path') segments: readonly string[] = []): Page {
    if (segments.map((segment) => `/${segment}`).join('') !== this.path)
      throw new Problem('not-found', { detail: 'There is no metadata here.' });
    return this.page;
  }
}
