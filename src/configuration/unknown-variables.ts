import { closestMatch } from 'leven';

/** By so many edits a misspelt name differs from ours at most. */
const MAX_EDITS = 2;
/** Shorter names resemble too many others. */
const MIN_LENGTH = 8;

export interface UnknownVariable {
  readonly name: string;
  /** The variable of ours whose name is nearly the same. */
  readonly meant: string;
}

/** Variables that are set, are not ours, and have nearly the name of one of ours. */
export function unknownVariables(
  environment: NodeJS.ProcessEnv,
  knownNames: readonly string[],
): readonly UnknownVariable[] {
  const longNames = knownNames.filter(({ length }) => length >= MIN_LENGTH);
  const found: UnknownVariable[] = [];
  for (const [name, text] of Object.entries(environment)) {
    if (!text || knownNames.includes(name)) continue;
    const meant = closestMatch(name.toUpperCase(), longNames, { maxDistance: MAX_EDITS });
    if (meant !== undefined) found.push({ name, meant });
  }
  return found;
}
