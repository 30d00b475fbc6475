import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import type { Configuration } from '../../configuration/configuration.js';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError, connect } from '../command/connect.js';
import { examineDatabase } from './database.js';
import { type Finding, fault, ok, warning } from './finding.js';
import { examineIssuer } from './issuer.js';
import { examineKey } from './key.js';
import { examineToken } from './token.js';

const USAGE = `Usage: doctor
  Asks what an operator would ask first: configuration, database, migrations, role, issuer, clocks.
  An API key, an access token, or both, a line each, are taken from standard input and examined too:
    printf '%s\\n' "$KEY" "$TOKEN" | npm run doctor
  It changes nothing. Status 1 where something keeps the service from working.`;
/** How long standard input may say nothing before the doctor goes on without it. */
const INPUT_MS = 500;
const MAX_INPUT_CHARACTERS = 64 * 1024;

/** @returns the status to exit with */
export async function doctor(words: string[]): Promise<number> {
  const { values } = parseArgs({
    args: words,
    options: { help: { type: 'boolean', default: false } },
  });
  if (values.help) return print(USAGE);
  const { tokens, keys } = sorted(await standardInput());
  const found: Finding[] = [];
  const tell = (...findings: Finding[]): void => {
    for (const finding of findings) print(inWords(finding));
    found.push(...findings);
  };

  const configuration = examineConfiguration(tell);
  const client = await examineConnection(tell);
  if (client) {
    try {
      tell(...(await examineDatabase(client)));
      for (const key of keys)
        tell(await examineKey(key, client).catch((error: unknown) => unexamined('API key', error)));
    } finally {
      await client.end();
    }
  }
  if (configuration) {
    const issuer = await examineIssuer(configuration);
    tell(...issuer.findings);
    for (const token of tokens)
      tell(
        issuer.keys
          ? await examineToken(token, configuration, issuer.keys)
          : unexamined('access token', 'there are no keys to verify it with'),
      );
  } else if (tokens.length > 0)
    tell(unexamined('access token', 'the configuration is not complete'));

  const faults = found.filter(({ state }) => state === 'fault').length;
  print(
    faults === 0
      ? '\nNothing keeps the service from working.'
      : `\n${faults} thing${faults === 1 ? ' keeps' : 's keep'} the service from working.`,
  );
  return faults === 0 ? 0 : 1;
}

function examineConfiguration(tell: (...findings: Finding[]) => void): Configuration | undefined {
  try {
    const configuration = readConfiguration(process.env);
    tell(ok('configuration', 'complete'));
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

async function examineConnection(
  tell: (...findings: Finding[]) => void,
): Promise<Client | undefined> {
  if (!process.env['DATABASE_URL']) return undefined; // said by the configuration
  try {
    return await connect();
  } catch (error) {
    if (!(error instanceof AdministrationError)) throw error;
    tell(fault('database', error.message, 'From this machine: psql "$DATABASE_URL"'));
    return undefined;
  }
}

const unexamined = (subject: string, why: unknown): Finding =>
  warning(subject, `not examined: ${describe(why)}`, 'Mend what is said above first.');

/** What is piped in, or nothing where a person or nobody is at the other end. */
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

/** A token has parts with points between them, a key has none. A header may be pasted as it is. */
function sorted(input: string): { tokens: string[]; keys: string[] } {
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

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}
