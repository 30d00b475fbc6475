import { expect, it } from '@jest/globals';
import { Session } from './session.js';

it('a session says why when the connection string cannot be read', async () => {
  const session = new Session({ address: { DATABASE_URL_FILE: '/nonexistent/file' } });
  await expect(session.connect()).rejects.toThrow('DATABASE_URL_FILE');
});
