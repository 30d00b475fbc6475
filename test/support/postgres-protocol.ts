/** Returns the answer of a PostgreSQL server that refuses a session: an ErrorResponse with this SQLSTATE. */
export function encodeRefusal(code: string, message: string): Buffer {
  const text = `SFATAL\0C${code}\0M${message}\0\0`;
  const length = Buffer.alloc(4);
  length.writeInt32BE(length.byteLength + text.length);
  return Buffer.concat([Buffer.from('E'), length, Buffer.from(text)]);
}

/** PostgreSQL's answer while it repairs its data. */
export const IS_STARTING = encodeRefusal('57P03', 'the database system is starting up');
