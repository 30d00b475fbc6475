import { STATUS_CODES } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { Problem } from './problem.js';
import { type ProblemSlug, problemTypes } from './problem-types.js';

const COMMON_FIELDS = [...['Cache-Control', 'no-store'], ...['X-Content-Type-Options', 'nosniff']];
const DATE_TIME = '","dateTime":"';
/** Of a request id and a time, as they stand in each document. */
const LENGTH = `00000000-0000-0000-0000-000000000000${DATE_TIME}2026-01-01T00:00:00.000Z`.length;

/** Writes problem documents: RFC 9457 (obsoletes RFC 7807) with the two extensions of the interface document, dateTime and issues. */
@Injectable()
export class ProblemRenderer {
  /** Most problems are made once. To make their documents as a whole each time takes 8 % of the CPU time of a 401 or 404. */
  private readonly prepared = new WeakMap<Problem, ReturnType<ProblemRenderer['prepare']>>();

  constructor(private readonly configuration: Configuration) {}

  typeOf(slug: ProblemSlug): string {
    return `${this.configuration.baseAddress}/problems/${slug}`;
  }

  /** Status, header fields (a flat list) and body of the answer for a problem. */
  render(problem: Problem, requestId: string) {
    let prepared = this.prepared.get(problem);
    if (!prepared) this.prepared.set(problem, (prepared = this.prepare(problem)));
    const { status, fields, page, start, end } = prepared;
    const body = page ?? start + requestId + DATE_TIME + new Date().toISOString() + end;
    return { status, headers: fields.with(1, requestId), body };
  }

  private prepare({ slug, circumstances }: Problem) {
    const known = slug === 'about:blank' ? undefined : problemTypes[slug];
    const { detail, issues = [], headers = [], page } = circumstances;
    const status = circumstances.status ?? known?.status ?? 500;
    const type = slug === 'about:blank' ? slug : this.typeOf(slug);
    const title = known?.title ?? STATUS_CODES[status] ?? '';
    const start = `${JSON.stringify({ type, title, status, detail }).slice(0, -1)},"instance":"urn:uuid:`;
    const end = issues.length > 0 ? `",${JSON.stringify({ issues }).slice(1)}` : '"}';
    const length = page ? Buffer.byteLength(page) : Buffer.byteLength(start + end) + LENGTH;
    const form = page ? 'text/html; charset=utf-8' : 'application/problem+json';
    const content = ['Content-Type', form, 'Content-Length', String(length)];
    const fields = ['X-Request-Id', '', ...content, ...COMMON_FIELDS, ...headers];
    return { status, fields, page, start, end };
  }
}
