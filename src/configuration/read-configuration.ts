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
  const own = Object.fromEntries(
    variableNames.flatMap((name) => (set[name] ? [[name, set[name]]] : [])),
  );
  const configuration = plainToInstance(Configuration, own, { exposeDefaultValues: true });
  const errors = validateSync(configuration, { stopAtFirstError: true });
  const faults = errors.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  faults.push(...Object.keys(set).flatMap(misspelt));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(configuration);
}

/** Largest edit distance of a name that is meant for one of ours; shorter names are near to too many others. */
const NEAR = 2;
const SHORTEST = 8;

/** The fault of a name that is nearly ours: to ignore OAUTH_REQUIRED_SCOPES would let in more callers than were meant. */
function misspelt(name: string): string[] {
  if (variableNames.includes(name)) return [];
  const meant = variableNames.find(
    (ours) => ours.length >= SHORTEST && leven(ours, name.toUpperCase()) <= NEAR,
  );
  return meant ? [`${name} is unknown: rename it to ${meant}, or unset it`] : [];
}
