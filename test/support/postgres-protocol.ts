/** PostgreSQL's answer while it repairs its data: an ErrorResponse with the SQLSTATE 57P03. */
export const IS_STARTING = encodeMessage('E', 'SFATAL\0C57P03\0Mthe database system is starting up\0\0');

function encodeMessage(type: string, text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(length.byteLength + text.length);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(text)]);
}
