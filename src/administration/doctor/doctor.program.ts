import { once } from 'node:events';
import type { Client } from 'pg';
import type { KeySet } from '../../auth/issuers/key-set.js';
import type { Configuration } from '../../configuration/configuration.js';
import { holdsPassword } from '../../configuration/database-url.js';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { type Program, AdministrationError, command } from '../frame/command.js';
import { connect } from '../frame/connect.js';
import { examineDatabase } from './database.js';
import { type Finding, attempt, fault, ok, unexamined, warning } from './finding.js';
import { examineIssuer } from './issuer.js';
import { examineKey } from './key.js';
import { examineLastGoodFile } from './last-good-file.js';
import { examineToken } from './token.js';

/** How long the doctor waits for standard input, in milliseconds, before it continues without it. */
const INPUT_MS = 500;
const MAX_INPUT_CHARACTERS = 64 * 1024;

export const doctor: Program = {
  name: 'doctor',
  commands: {
    '': command({
      usage: '[--json]',
      summary: 'checks configuration, database, issuer and clocks, and says what to do',
      options: { json: { type: 'boolean' } },
      run: async ({ json }) => {
        const found: Finding[] = [];
        await examine((...findings) => {
          found.push(...findings);
          // The checks that follow may take some time
          if (!json) for (const finding of findings) process.stdout.write(`${inWords(finding)}\n`);
        });
        const faults = found.filter(({ state }) => state === 'fault').length;
        return {
          text:
            faults === 0
              ? '\nNothing keeps the service from working.'
              : `\n${faults} thing${faults === 1 ? ' keeps' : 's keep'} the service from working.`,
          json: found,
          found: faults > 0,
        };
      },
    }),
  },
  notes: `An API key, an access token, or both, a line each, are taken from standard input and examined too:
  printf '%s\\n' "$KEY" "$TOKEN" | npm run doctor
It changes nothing. Status 2 where something keeps the service from working.`,
};

type Tell = (...findings: Finding[]) => void;

async function examine(tell: Tell): Promise<void> {
  const { tokens, keys } = credentialsIn(await standardInput());
  const configuration = examineConfiguration(tell);
  const client = await examineConnection(tell);
  if (client) {
    try {
      tell(...(await examineDatabase(client)));
      for (const key of keys) tell(...(await attempt('API key', () => examineKey(key, client))));
    } finally {
      await client.end();
    }
  }
  if (configuration) {
    const lastGood = await examineLastGoodFile(configuration.LAST_GOOD_FILE);
    if (lastGood) tell(lastGood);
    const keySets = new Map<string, KeySet>();
    for (const name of configuration.OAUTH_ISSUER) {
      const issuer = await examineIssuer(name, configuration);
      tell(...issuer.findings);
      if (issuer.keys) keySets.set(name, issuer.keys);
    }
    for (const token of tokens)
      tell(
        ...(keySets.size > 0
          ? await attempt('access token', () => examineToken(token, configuration, keySets))
          : [unexamined('access token', 'there are no keys to verify it with')]),
      );
  } else if (tokens.length > 0)
    tell(unexamined('access token', 'the configuration is not complete'));
}

function examineConfiguration(tell: Tell): Configuration | undefined {
  try {
    const configuration = readConfiguration(process.env);
    tell(ok('configuration', 'complete'));
    examineEnvironment(process.env, tell);
    return configuration;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    tell(
      ...error.faults.map((said) =>
        fault('configuration', said, 'Every variable is explained in .env.example.'),
      ),
    );
    return undefined;
  }
}

/** What counts although no variable of ours is wrong. */
function examineEnvironment(environment: NodeJS.ProcessEnv, tell: Tell): void {
  const { DATABASE_URL, NODE_ENV, NODE_OPTIONS, NODE_USE_ENV_PROXY, PGPASSWORD } = environment;
  const password = NODE_ENV === 'production' && (PGPASSWORD || holdsPassword(DATABASE_URL));
  const proxy = ['HTTPS_PROXY', 'https_proxy'].find((name) => environment[name]);
  const uses = NODE_USE_ENV_PROXY === '1' || NODE_OPTIONS?.includes('--use-env-proxy');
  if (password)
    tell(
      warning(
        'password',
        'the password of the database is in the environment, which crash reports and other processes can show',
        'Put the connection string into a file, and name that in DATABASE_URL_FILE.',
      ),
    );
  if (proxy && !uses)
    tell(
      warning(
        'proxy',
        `${proxy} is set, and Node.js ignores it`,
        'Set NODE_USE_ENV_PROXY=1, and name in NO_PROXY what is reached without the proxy.',
      ),
    );
}

async function examineConnection(tell: Tell): Promise<Client | undefined> {
  if (!process.env['DATABASE_URL'] && !process.env['DATABASE_URL_FILE']) return undefined; // the check of the configuration reports it
  try {
    return await connect();
  } catch (error) {
    if (!(error instanceof AdministrationError)) throw error;
    tell(fault('database', error.message, 'From this machine: psql "$DATABASE_URL"'));
    return undefined;
  }
}

/** What is piped in; empty if standard input is a terminal or stays silent. */
async function standardInput(): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) return '';
  let text = '';
  stdin
    .setEncoding('utf8')
    .on('data', (part: string) => (text += part.slice(0, MAX_INPUT_CHARACTERS - text.length)));
  const silence = setTimeout(() => stdin.destroy(), INPUT_MS);
  stdin.once('data', () => clearTimeout(silence));
  await once(stdin, 'close').catch(() => undefined);
  clearTimeout(silence);
  return text;
}

/** A token has parts separated by dots, a key has no dots. A whole header line may be pasted. */
function credentialsIn(input: string): { tokens: string[]; keys: string[] } {
  const credentials = input.split('\n').map((line) =>
    line
      .trim()
      .replace(/^(authorization|api-key): */i, '')
      .replace(/^bearer +/i, ''),
  );
  const given = credentials.filter((credential) => credential !== '');
  return {
    tokens: given.filter((credential) => credential.includes('.')),
    keys: given.filter((credential) => !credential.includes('.')),
  };
}

const inWords = ({ state, subject, said, remedy }: Finding): string =>
  `${state.padEnd(7)}  ${subject.padEnd(13)}  ${said}${remedy ? `\n${' '.repeat(24)}→ ${remedy}` : ''}`;
