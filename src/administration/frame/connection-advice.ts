import { Client } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from './command.js';

/** By SQLSTATE, or by the code of Node.js. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'Correct role and password in DATABASE_URL, or set the password.',
  28000:
    'Create the role, let it log in (alter role NAME login) or in from here (pg_hba.conf); ' +
    'for TLS add sslmode=verify-full.',
  '3D000':
    "Correct the database in DATABASE_URL, or create it: create database NAME encoding 'UTF8' template template0;",
  53300: 'End connections (table pg_stat_activity), or raise the limit that was reached.',
  42501: 'Let the role in: grant connect on database NAME to ROLE;',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Write the host in DATABASE_URL as its certificate names it.',
};

const UNREACHABLE = /^E(CONN|HOST|TIMEDOUT|NOTFOUND|AI_AGAIN)/;

/** Names database, host and port, and nothing else of the connection string, which holds a password. */
export function describeDatabase(connectionString: string): string {
  const { database, host, port } = new Client({ connectionString });
  return `the database ${database} at ${host}:${port}`;
}

/** The error of a database with which no work could begin. */
export function unusableDatabase(connectionString: string, error: unknown): AdministrationError {
  const subject = describeDatabase(connectionString).replace('the', 'The');
  return new AdministrationError(`${subject} cannot be used: ${messageOf(error)}. ${adviceAgainst(error)}`);
}

function adviceAgainst(error: unknown): string {
  const { code = '' } = error as { readonly code?: string };
  if (UNREACHABLE.test(code)) return 'Start the server, or correct host and port in DATABASE_URL.';
  return ADVICE[code] ?? 'Check DATABASE_URL and that the server runs.';
}
