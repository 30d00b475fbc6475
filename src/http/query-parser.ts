import { type ParsedUrlQuery, parse } from 'node:querystring';
import { Problem } from '../problems/problem.js';

/**
 * Express's setting `query parser`. A `+` is a space.
 * @throws Problem where the percent-encoding is broken or is not UTF-8: node:querystring would pass on something else
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
  return parse(query, '&', '=', { maxKeys: 0 }); // by default it drops what follows a thousand names
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
