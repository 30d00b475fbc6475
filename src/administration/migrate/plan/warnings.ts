// What a plan adds and nobody can have meant: characters that nobody sees, a code that differs from another one only by
// case, white space or Unicode form, and numbers that a spreadsheet has written anew.
import { groupBy } from '../../../collections/group-by.js';
import type { CodeRows } from '../../../lookups/code-rows.js';
import { invisibleCharactersOf, looksRewritten, showInvisible } from '../../lists/characters.js';

/** A value of a list, or a code of a type. */
interface Name {
  /** What the list or the type is called. */
  readonly place: string;
  readonly name: string;
}

/** A sentence for each, about names that `before` lacks. */
export function warningsOf(before: CodeRows, after: CodeRows): string[] {
  const known = new Set(namesOf(before).map(identityOf));
  const names = namesOf(after);
  const alike = groupBy(names, likenessOf);
  const warnings: string[] = [];
  for (const added of names) {
    if (known.has(identityOf(added))) continue;
    const twins = (alike.get(likenessOf(added)) ?? []).filter(({ name }) => name !== added.name);
    warnings.push(...warningsAbout(added, twins));
  }
  return warnings;
}

function warningsAbout({ place, name }: Name, twins: readonly Name[]): string[] {
  const subject = `${place}: ${quoted(name)}`;
  const warnings: string[] = [];
  const invisible = invisibleCharactersOf(name);
  if (invisible.length > 0) warnings.push(`${subject} holds what nobody sees: ${invisible.join(', ')}`);
  if (looksRewritten(name)) warnings.push(`${subject} looks like a number that a spreadsheet rewrote`);
  for (const twin of twins) {
    warnings.push(`${subject} differs from ${quoted(twin.name)} only by case, white space or Unicode form`);
  }
  return warnings;
}

function quoted(name: string): string {
  return showInvisible(JSON.stringify(name));
}

function namesOf({ values, records }: CodeRows): Name[] {
  const names: Name[] = [];
  for (const { codeList, value } of values) names.push({ place: codeList, name: value });
  for (const { codeType, code } of records) {
    names.push({ place: `code type ${quoted(codeType)}`, name: code });
  }
  return names;
}

function identityOf({ place, name }: Name): string {
  return JSON.stringify([place, name]);
}

/** Equal for names that people take for each other. */
function likenessOf({ place, name }: Name): string {
  const letters = name.normalize('NFKC').replaceAll(/\s/gu, '').toLowerCase();
  return JSON.stringify([place, letters]);
}
