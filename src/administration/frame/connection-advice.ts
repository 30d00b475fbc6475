import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** By SQLSTATE, or the code of Node.js. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'Correct role and password in DATABASE_URL, or set the password.',
  28000:
    'Create the role, let it log in (alter role NAME login) or in from here (pg_hba.conf); for TLS add sslmode=verify-full.',
  '3D000': `Correct the database in DATABASE_URL, or create it: create database NAME encoding 'UTF8' template template0;`,
  53300: 'End connections (table pg_stat_activity), or raise the limit that was reached.',
  42501: 'Let the role in: grant connect on database NAME to ROLE;',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Write the host in DATABASE_URL as its certificate names it.',
};
const OF_DEMO = /^postgres:\/\/postgres:[\da-f]{32}@127\.0\.0\.1:\d+\/postgres$/;
const DEMO = join(import.meta.dirname, '..', '..', '..', '.data', 'demo.env');

export async function isOfDemo(url: string): Promise<boolean> {
  return (await readFile(DEMO, 'utf8').catch(() => '')).includes(`DATABASE_URL='${url}'`);
}

/** What to do if the database cannot be reached. */
export async function adviceAgainst(error: unknown, url: string): Promise<string> {
  if (await isOfDemo(url))
    return 'This is the database of the demo. Start it in another terminal: npm start';
  if (OF_DEMO.test(url) && existsSync(DEMO))
    return 'The demo has another database by now. Load its variables again: . .data/demo.env';
  const { code = '' } = error as { code?: string };
  if (/^E(?!RR_)/.test(code)) return 'Start the server, or correct host and port in DATABASE_URL.';
  return ADVICE[code] ?? 'Check DATABASE_URL and that the server runs.';
}
