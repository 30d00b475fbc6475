import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import leven from 'leven';
import { Configuration } from './configuration.js';
import { StartError } from './start-error.js';

/** Everything that is missing or wrong in the environment: one sentence for each variable, in their order. */
export class ConfigurationError extends StartError {
  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration is not complete:\n${faults.map((fault) => `  - ${fault}`).join('\n')}\nEvery variable is explained in .env.example.`,
    );
  }
}

export const variableNames = Object.keys(new Configuration());

/**
 * The checked configuration. An empty variable counts as not set.
 * @throws ConfigurationError with all faults at once
 */
export function readConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const set = Object.entries(environment).filter(([, value]) => value);
  const given = Object.entries(new Configuration()).flatMap(([name, value]) => {
    const text = environment[name];
    return text ? [[name, converted(text, value)] as const] : [];
  });
  const configuration = plainToInstance(Configuration, Object.fromEntries(given));
  const errors = validateSync(configuration, { stopAtFirstError: true });
  const faults = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  const unknown = set.flatMap(([name]) => misspelt(name));
  faults.push(...replacedVariables(environment));
  // To ignore OAUTH_REQUIRED_SCOPES would let in more callers than were meant
  faults.push(...unknown.filter((sentence) => sentence.includes('rename it to OAUTH_')));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(Object.assign(configuration, { warnings: unknown }));
}

/** To ignore a variable of an earlier release would leave out a promise without a word. */
function replacedVariables({ LAST_GOOD_FILE }: NodeJS.ProcessEnv): string[] {
  if (!LAST_GOOD_FILE) return [];
  return ['LAST_GOOD_FILE is no longer read: unset it, and set LAST_GOOD_FOLDER to a folder'];
}

/** The text of a variable in the type of its default. What has another form stays a text, which the rules refuse. */
function converted(text: string, value: unknown): unknown {
  if (Array.isArray(value)) return text.split(',').map((entry) => entry.trim());
  if (typeof value === 'number' && /^\d{1,9}$/.test(text)) return Number(text);
  if (typeof value === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

/** What is wrong with a name that is nearly ours: by two edits at most. Names of less than 8 letters resemble too many others. */
function misspelt(name: string): string[] {
  if (variableNames.includes(name)) return [];
  const meant = variableNames.find(
    (known) => known.length >= 8 && leven(known, name.toUpperCase()) <= 2,
  );
  return meant ? [`${name} is unknown: rename it to ${meant}, or unset it`] : [];
}
