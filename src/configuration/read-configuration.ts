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
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value));
  const known = Object.fromEntries(
    variableNames.flatMap((name) => (set[name] ? [[name, set[name]]] : [])),
  );
  const configuration = plainToInstance(Configuration, known, { exposeDefaultValues: true });
  const errors = validateSync(configuration, { stopAtFirstError: true });
  const faults = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  const unknown = Object.keys(set).flatMap(misspelt);
  // To ignore OAUTH_REQUIRED_SCOPES would let in more callers than were meant
  const isFault = (sentence: string): boolean => sentence.includes('rename it to OAUTH_');
  faults.push(...unknown.filter(isFault));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(Object.assign(configuration, { warnings: unknown }));
}

/** Largest edit distance of a name that is meant for one of ours; shorter names resemble too many others. */
const MOST_EDITS = 2;
const SHORTEST = 8;

/** What is wrong with a name that is nearly ours. */
function misspelt(name: string): string[] {
  if (variableNames.includes(name)) return [];
  const meant = variableNames.find(
    (known) => known.length >= SHORTEST && leven(known, name.toUpperCase()) <= MOST_EDITS,
  );
  return meant ? [`${name} is unknown: rename it to ${meant}, or unset it`] : [];
}
