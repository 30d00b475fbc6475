import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { Configuration, IS_QUOTED, isQuoted } from './configuration.js';
import { parseDatabaseAddress } from './database-url.js';
import { StartError } from './start-error.js';

/** Variables are missing or wrong. `faults` has one sentence for each fault. */
export class ConfigurationError extends StartError {
  constructor(readonly faults: readonly string[]) {
    const lines = faults.map((fault) => `  - ${fault}`);
    super(['The configuration cannot be used:', ...lines, 'Every variable is explained in .env.example.'].join('\n'));
  }
}

export const variableNames: readonly string[] = Object.keys(new Configuration());

/**
 * Returns the checked configuration. An empty variable is treated as not set.
 * @throws ConfigurationError with all faults
 */
export function readConfiguration(environment: NodeJS.ProcessEnv): Configuration {
  const configuration = plainToInstance(Configuration, readVariables(environment));
  const faults = [
    ...findDatabaseFaults(configuration),
    ...findQuotedNames(environment).map((name) => `${name} ${IS_QUOTED}`),
    ...findBrokenRules(configuration, findQuotedNames(environment)),
    ...findUnknownVariables(environment),
  ];
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(configuration);
}

function readVariables(environment: NodeJS.ProcessEnv): Record<string, unknown> {
  const variables: Record<string, unknown> = {};
  for (const [name, defaultValue] of Object.entries(new Configuration())) {
    const text = environment[name];
    if (text) variables[name] = convert(text, defaultValue);
  }
  return variables;
}

/** Converts a text to the type of the default. If the text does not fit, it stays a string, and a rule refuses it. */
function convert(text: string, defaultValue: unknown): unknown {
  if (Array.isArray(defaultValue)) return text.split(',').map((entry) => entry.trim());
  if (typeof defaultValue === 'number' && /^\d{1,9}$/.test(text)) return Number(text);
  if (typeof defaultValue === 'boolean' && text === 'true') return true;
  if (typeof defaultValue === 'boolean' && text === 'false') return false;
  return text;
}

function findDatabaseFaults(configuration: Configuration): readonly string[] {
  try {
    parseDatabaseAddress(configuration);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/**
 * Finds variables whose value is in quotes. Leaves out OpenTelemetry's variables, which must not stop the start, and
 * the database's variables, which database-url.ts checks.
 */
function findQuotedNames(environment: NodeJS.ProcessEnv): readonly string[] {
  const checked = variableNames.filter((name) => !/^(OTEL_|DATABASE_URL)/.test(name));
  return checked.filter((name) => {
    const text = environment[name];
    return text !== undefined && isQuoted(text);
  });
}

/** Returns the messages of broken rules. Leaves out quoted variables, because their quotes are reported already. */
function findBrokenRules(configuration: Configuration, quoted: readonly string[]): readonly string[] {
  const errors = validateSync(configuration, { stopAtFirstError: true });
  const unquoted = errors.filter(({ property }) => !quoted.includes(property));
  return unquoted.flatMap(({ property, constraints }) => {
    if (!constraints) throw new Error(`the broken rule of ${property} has no message`);
    return Object.values(constraints);
  });
}

/** Finds unknown names that begin with OAUTH_. If a misspelt OAUTH_REQUIRED_SCOPE were ignored, no scope would be required. */
function findUnknownVariables(environment: NodeJS.ProcessEnv): readonly string[] {
  const knownNames = variableNames.filter((name) => name.startsWith('OAUTH_'));
  return Object.entries(environment)
    .filter(([name, text]) => text && /^OAUTH_/i.test(name) && !knownNames.includes(name))
    .map(([name]) => `${name} is unknown: rename it to one of ${knownNames.join(', ')}, or unset it`);
}
