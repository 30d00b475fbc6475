import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import leven from 'leven';
import { Configuration } from './configuration.js';
import { StartError } from './start-error.js';

/** Everything that is missing or wrong in the environment: one sentence for each fault, in the order of the variables. */
export class ConfigurationError extends StartError {
  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration is not complete:\n${faults.map((fault) => `  - ${fault}`).join('\n')}\nEvery variable is explained in .env.example.`,
    );
    this.name = 'ConfigurationError';
  }
}

/** The names of all variables that the service reads. */
export const variableNames = Object.keys(new Configuration()) as (keyof Configuration)[];

/**
 * The checked configuration. An empty variable counts as not set.
 * @throws ConfigurationError with all faults at once
 */
export function readConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const set = Object.fromEntries(
    variableNames.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const configuration = plainToInstance(Configuration, set, { exposeDefaultValues: true });
  const faults = validateSync(configuration).flatMap(({ constraints }) =>
    Object.values(constraints ?? {}),
  );
  faults.push(...misspelt(environment));
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(configuration);
}

/** Largest edit distance of a name that is meant for one of ours; shorter names are near to too many others. */
const NEAR = 2;
const SHORTEST = 8;

/** Variables whose names are nearly ours: to ignore OAUTH_REQUIRED_SCOPES would let in more callers than were meant. */
function* misspelt(environment: NodeJS.ProcessEnv): Generator<string> {
  const names = new Set<string>(variableNames);
  const known = variableNames.filter(({ length }) => length >= SHORTEST);
  for (const [name, value] of Object.entries(environment)) {
    // OTEL_BLRP_… are standard variables of OpenTelemetry's log records
    if (!value || names.has(name) || name.startsWith('OTEL_BLRP_')) continue;
    const meant = known.find((ours) => leven(ours, name.toUpperCase()) <= NEAR);
    if (meant) yield `${name} is unknown: rename it to ${meant}, or unset it`;
  }
}
