import { Controller, Get, Param } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Answer, AnswerKind } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { Public } from '../public.decorator.js';
import { WELL_KNOWN, metadataAddress, metadataOf } from './protected-resource.js';

/** Protected resource metadata. It is outside BASE_PATH, because RFC 9728 puts the well-known path between host and path. */
@Public()
@Controller(`${WELL_KNOWN}{/*path}`)
export class ProtectedResourceController {
  private readonly path: string | undefined;
  private readonly page: Answer;

  constructor(configuration: Configuration) {
    const address = metadataAddress(configuration);
    this.path = address?.split(WELL_KNOWN)[1];
    this.page = Answer.of(
      Buffer.from(JSON.stringify(metadataOf(configuration))),
      AnswerKind.page('application/json'),
    );
  }

  @Get()
  show(@Param('path') segments: readonly string[] = []): Answer {
    if (segments.map((segment) => `/${segment}`).join('') !== this.path)
      throw new Problem('not-found', { detail: 'There is no metadata here.' });
    return this.page;
  }
}
