import { once } from 'node:events';
import type { Configuration } from '../../configuration/configuration.js';
import { holdsPassword } from '../../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { type Program, command, typed } from '../frame/command.js';
import { connect } from '../frame/connect.js';
import { CHECKS, examineKey } from './examine-database.js';
import { type KeySets, examineIssuer, examineToken } from './examine-issuer.js';
import { type Finding, attempt, fault, ok, warning } from './finding.js';

/** How long the doctor waits for standard input, in milliseconds, before it continues without it. */
const INPUT_MS = 500;
const MAX_INPUT_CHARACTERS = 64 * 1024;

export const doctor: Program = {
  name: 'doctor',
  commands: {
    '': command({
      usage: '[--json]',
      summary: 'checks configuration, database and issuer, and says what to do',
      options: { json: { type: 'boolean' } },
      run: async ({ json }) => {
        const found: Finding[] = [];
        for await (const finding of examine()) {
          found.push(finding);
          if (!json) process.stdout.write(`${inWords(finding)}\n`); // the checks that follow may take some time
        }
        const faults = found.filter(({ state }) => state === 'fault').length;
        const text =
          faults === 0
            ? 'Nothing keeps the service from working.'
            : `${faults} thing${faults === 1 ? ' keeps' : 's keep'} the service from working.`;
        return { text: `\n${text}`, json: found, found: faults > 0 };
      },
    }),
  },
  notes: `An API key, an access token, or both, a line each, are taken from standard input and examined too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${typed('doctor')}
It changes nothing. Status 2 where something keeps the service from working.`,
};

async function* examine(): AsyncGenerator<Finding> {
  const credentials = await givenCredentials();
  const [configuration, ...findings] = examineConfiguration();
  yield* findings;
  const client = await connect().catch((error: Error) => error);
  if (client instanceof Error)
    yield fault('database', client.message, 'From this machine: psql "$DATABASE_URL"');
  else
    try {
      for (const [subject, check] of Object.entries(CHECKS))
        yield await attempt(subject, () => check(client));
      for (const key of credentials.filter((one) => !one.includes('.')))
        yield await attempt('API key', () => examineKey(client, key));
    } finally {
      await client.end().catch(() => undefined);
    }
  if (!configuration) return;
  const keySets: KeySets = new Map();
  const { HTTPS_PROXY, https_proxy = HTTPS_PROXY, NODE_USE_ENV_PROXY } = process.env;
  const remedy =
    https_proxy && NODE_USE_ENV_PROXY !== '1'
      ? 'HTTPS_PROXY is set, and Node.js ignores it: set NODE_USE_ENV_PROXY=1.'
      : 'Check OAUTH_ISSUER and the way to it: DNS, proxy, firewall, certificate.';
  for (const name of configuration.OAUTH_ISSUER)
    yield await attempt('issuer', () => examineIssuer(name, configuration, keySets), remedy);
  for (const token of credentials.filter((one) => one.includes('.')))
    yield await attempt('access token', () => examineToken(token, configuration, keySets));
}

function examineConfiguration(): [Configuration | undefined, ...Finding[]] {
  const { NODE_ENV, DATABASE_URL, PGPASSWORD } = process.env;
  const shown =
    NODE_ENV === 'production' && (PGPASSWORD || holdsPassword(DATABASE_URL))
      ? [
          warning(
            'password',
            'the password of the database is in the environment, which crash reports and other processes can show',
            'Put the connection string into a file, and name that in DATABASE_URL_FILE.',
          ),
        ]
      : [];
  try {
    return [readConfiguration(process.env), ok('configuration', 'complete'), ...shown];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const remedy = 'Every variable is explained in .env.example.';
    return [
      undefined,
      ...error.faults.map((said) => fault('configuration', said, remedy)),
      ...shown,
    ];
  }
}

/** What is piped in, a line each; a whole header line may be pasted. Nothing if standard input is a terminal or stays silent. */
async function givenCredentials(): Promise<string[]> {
  const { stdin } = process;
  if (stdin.isTTY) return [];
  let text = '';
  const silence = setTimeout(() => stdin.destroy(), INPUT_MS);
  stdin
    .setEncoding('utf8')
    .once('data', () => clearTimeout(silence))
    .on('data', (part: string) => (text += part.slice(0, MAX_INPUT_CHARACTERS - text.length)));
  await once(stdin, 'close').catch(() => undefined);
  clearTimeout(silence);
  const credentials = text.split('\n').map((line) =>
    line
      .trim()
      .replace(/^(authorization|api-key): */i, '')
      .replace(/^bearer +/i, ''),
  );
  return credentials.filter((credential) => credential !== '');
}

const inWords = ({ state, subject, said, remedy }: Finding): string =>
  `${state.padEnd(7)}  ${subject.padEnd(13)}  ${said}${remedy ? `\n${' '.repeat(24)}→ ${remedy}` : ''}`;
