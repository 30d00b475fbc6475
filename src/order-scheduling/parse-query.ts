/** A parameter as it was sent. Its decoded name and value are missing if percent-encoding or UTF-8 is broken. */
export interface Parameter {
  readonly rawName: string;
  readonly rawValue: string;
  readonly name: string | undefined;
  readonly value: string | undefined;
}

/** Reads a query, without its question mark: all parameters in order, without nesting. `+` is a space, as in forms. */
export const parseQuery = (query: string): Parameter[] =>
  query
    .split('&')
    .filter((piece) => piece !== '')
    .map((piece) => {
      const equals = piece.indexOf('=');
      const [rawName, rawValue] =
        equals < 0 ? [piece, ''] : [piece.slice(0, equals), piece.slice(equals + 1)];
      return { rawName, rawValue, name: decode(rawName), value: decode(rawValue) };
    });

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
