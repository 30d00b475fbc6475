/** A constant of SQL, whatever standard_conforming_strings says: backslashes only where the string says E. */
export const literal = (text: string | null): string => {
  if (text === null) return 'null';
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', String.raw`\\`)}` : quoted;
};
