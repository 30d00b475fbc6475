/** An SQL string constant that does not depend on standard_conforming_strings: a text with backslashes is written as E'…'. */
export const literal = (text: string | null): string => {
  if (text === null) return 'null';
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', String.raw`\\`)}` : quoted;
};
