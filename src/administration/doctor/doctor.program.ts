import { text as readAll } from 'node:stream/consumers';
import { ConfigurationError, readConfiguration } from '../../configuration/read-configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Program, command, typed } from '../frame/command.js';
import { connect } from '../frame/connect.js';
import { DATABASE_CHECKS, examineKey } from './database.js';
import type { Finding } from './finding.js';
import { type KeySets, examineIssuer, examineToken } from './issuer.js';

/** How long the doctor waits for standard input, in milliseconds, before it continues without it. */
const INPUT_MS = 500;

export const doctor: Program = {
  name: 'doctor',
  commands: {
    '': command({
      usage: '[--json]',
      summary: 'checks configuration, database and issuer, and says what to do',
      options: { json: { type: 'boolean' } },
      run: async ({ json }) => {
        const found = [];
        for await (const [subject, { said, fault, warning }] of examine()) {
          const state = fault ? 'fault' : warning ? 'warning' : 'ok';
          const remedy = fault ?? warning;
          found.push({ subject, state, said, remedy });
          const more = remedy ? `\n${' '.repeat(24)}→ ${remedy}` : '';
          // The checks that follow may take some time
          if (!json)
            process.stdout.write(`${state.padEnd(7)}  ${subject.padEnd(13)}  ${said}${more}\n`);
        }
        const count = found.filter(({ state }) => state === 'fault').length;
        const text = `\nThings that keep the service from working: ${count || 'none'}.`;
        return { text, json: found, found: count > 0 };
      },
    }),
  },
  notes: `An API key, an access token, or both, a line each, are taken from standard input and examined too:
  printf '%s\\n' "$KEY" "$TOKEN" | ${typed('doctor')}
It changes nothing. Status 2 where something keeps the service from working.`,
};

async function* examine(): AsyncGenerator<readonly [subject: string, Finding]> {
  const given = await givenCredentials();
  const configuration = await attempt(() => readConfiguration(process.env));
  const isComplete = 'OAUTH_ISSUER' in configuration;
  yield ['configuration', isComplete ? { said: 'complete' } : configuration];
  const client = await attempt(connect);
  if ('said' in client) yield ['database', client];
  else
    try {
      for (const [subject, check] of Object.entries(DATABASE_CHECKS))
        yield [subject, await attempt(() => check(client))];
      for (const key of given.filter((one) => !one.includes('.')))
        yield ['API key', await attempt(() => examineKey(client, key))];
    } finally {
      await client.end().catch(() => undefined);
    }
  if (!isComplete) return;
  const keySets: KeySets = new Map();
  for (const name of configuration.OAUTH_ISSUER)
    yield ['issuer', await examineIssuer(name, configuration, keySets)];
  for (const token of given.filter((one) => one.includes('.')))
    yield ['access token', await examineToken(token, configuration, keySets)];
}

/** What fails is a fault, and the other checks go on. */
async function attempt<T>(check: () => Promise<T> | T): Promise<T | Finding> {
  try {
    return await check();
  } catch (error) {
    return error instanceof ConfigurationError
      ? { said: error.faults.join(' '), fault: 'Every variable is explained in .env.example.' }
      : { said: describe(error), fault: 'Correct this first: others may follow from it.' };
  }
}

/** What is piped in, a line each; a whole header line may be pasted. Nothing if standard input is a terminal or stays silent. */
async function givenCredentials(): Promise<string[]> {
  const { stdin } = process;
  if (stdin.isTTY) return [];
  const silence = setTimeout(() => stdin.destroy(), INPUT_MS);
  stdin.once('readable', () => clearTimeout(silence));
  const lines = (await readAll(stdin).catch(() => '')).split('\n');
  return lines
    .map((line) => line.trim().replace(/^((authorization|api-key): *)?(bearer +)?/i, ''))
    .filter((credential) => credential !== '');
}
