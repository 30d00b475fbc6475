import type { Issue } from '../problems/problem.js';

export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** Longest piece of what was sent that an issue shows. */
const SHOWN_CHARACTERS = 256;
export const shown = (text: string): string => text.slice(0, SHOWN_CHARACTERS);

/**
 * Reads a query, without its question mark: every parameter in order, none dropped, no nesting; `+` is a space, as forms send it.
 * Where percent-encoding or UTF-8 is broken there is an issue instead of the parameter.
 */
export function parseQuery(query: string): { parameters: Parameter[]; issues: Issue[] } {
  const parameters: Parameter[] = [];
  const issues: Issue[] = [];
  for (const piece of query.split('&').filter((text) => text !== '')) {
    const [rawName, rawValue] = split(piece);
    const name = decode(rawName);
    const value = decode(rawValue);
    if (name !== undefined && value !== undefined) parameters.push({ name, value });
    else
      issues.push({
        description: 'The percent-encoding is broken or is not UTF-8.',
        field: shown(name ?? rawName),
        location: 'query',
        value: shown(rawValue),
      });
  }
  return { parameters, issues };
}

function split(piece: string): [string, string] {
  const equals = piece.indexOf('=');
  return equals < 0 ? [piece, ''] : [piece.slice(0, equals), piece.slice(equals + 1)];
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
