/** What is wrong with a connection string, as the end of a sentence. It holds a password, so it is never quoted. */
export function databaseUrlFault(value: string): string | undefined {
  const form = 'a connection string such as postgres://user:password@host:5432/database is needed';
  if (value === '') return `is not set: ${form}`;
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value))
    return `is not a connection string of PostgreSQL: ${form}`;
  return isDecodable(value)
    ? undefined
    : 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
