import { text as readAll } from 'node:stream/consumers';

/** How long a standard input that is no terminal may be silent, as one that was never closed. */
const SILENCE_MS = 500;
/** A whole header line may be pasted. */
const HEADER_NAME = /^(authorization|api-key): */i;
const SCHEME = /^bearer +/i;

export interface GivenCredentials {
  readonly keys: readonly string[];
  readonly tokens: readonly string[];
}

/** What is piped in, a line each: API keys, and access tokens, which have points. */
export async function readGivenCredentials(): Promise<GivenCredentials> {
  const lines = (await readInput()).split('\n').map((line) => line.trim());
  const credentials = lines
    .filter((line) => line !== '')
    .map((line) => line.replace(HEADER_NAME, '').replace(SCHEME, ''));
  return {
    keys: credentials.filter((credential) => !credential.includes('.')),
    tokens: credentials.filter((credential) => credential.includes('.')),
  };
}

async function readInput(): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY) return '';
  const silence = setTimeout(() => stdin.destroy(), SILENCE_MS);
  stdin.once('readable', () => clearTimeout(silence));
  try {
    return await readAll(stdin);
  } catch {
    return ''; // it stayed silent
  }
}
