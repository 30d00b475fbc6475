import { STATUS_CODES } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { Issue, Problem } from './problem.js';
import { type ProblemSlug, problemTypes } from './problem-types.js';

/** RFC 9457 (obsoletes RFC 7807) with the two extensions of the interface document. */
export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly dateTime: string;
  readonly issues?: readonly Issue[];
}

const COMMON_FIELDS = [...['Cache-Control', 'no-store'], ...['X-Content-Type-Options', 'nosniff']];

@Injectable()
export class ProblemRenderer {
  constructor(private readonly configuration: Configuration) {}

  typeOf(slug: ProblemSlug): string {
    return `${this.configuration.baseAddress}/problems/${slug}`;
  }

  /** Status, header fields (a flat list) and body of the answer for a problem. */
  render({ slug, circumstances }: Problem, requestId: string) {
    const known = slug === 'about:blank' ? undefined : problemTypes[slug];
    const { detail, issues = [], headers = [], status = known?.status ?? 500 } = circumstances;
    const type = circumstances.page ? 'text/html; charset=utf-8' : 'application/problem+json';
    const document: ProblemDetails = {
      type: slug === 'about:blank' ? slug : this.typeOf(slug),
      title: known?.title ?? STATUS_CODES[status] ?? '',
      status,
      detail,
      instance: `urn:uuid:${requestId}`,
      dateTime: new Date().toISOString(),
      ...(issues.length > 0 ? { issues } : {}),
    };
    const body = circumstances.page ?? JSON.stringify(document);
    const length = String(Buffer.byteLength(body));
    const fields = ['X-Request-Id', requestId, 'Content-Type', type, 'Content-Length', length];
    return { status, headers: [...fields, ...COMMON_FIELDS, ...headers], body };
  }
}
