import { type ParsedUrlQuery, parse } from 'node:querystring';
import { Problem } from '../problems/problem.js';

/**
 * Parses the query, as Express's setting `query parser`. A `+` is a space. Express calls it when `request.query` is
 * read, so the Problem is thrown behind the credentials, and only on routes that read the query.
 * @throws Problem 400 if the percent-encoding is broken or is not UTF-8, which node:querystring would replace silently
 */
export function parseQuery(text: string | null): ParsedUrlQuery {
  const query = text ?? '';
  if (!isDecodable(query)) {
    const description = 'The percent-encoding of the query is broken or is not UTF-8.';
    throw new Problem('invalid-query', {
      detail: description,
      issues: [{ description, field: '', location: 'query' }],
    });
  }
  return parse(query, '&', '=', { maxKeys: 0 }); // by default all parameters behind the first thousand are dropped
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
