import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
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
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(configuration);
}
