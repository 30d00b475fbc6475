// Finds texts that a migration adds and that are probably mistakes. People decide, so the plan only shows a mark.
import { groupBy } from '../../lookups/group-by.js';
import type { CodeRows } from '../../lookups/code-rows.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { describeRecord } from './code-changes.js';
import { simplify } from './resemblance.js';
import { describeLooks } from './spreadsheet-looks.js';

/** A value of a list, a code type, a code, or a field of a code. */
interface Text {
  /** The list, the type or the code to which the text belongs, as it is printed. */
  readonly place: string;
  readonly text: string;
  /** False for a description: people do not confuse two descriptions. */
  readonly isName: boolean;
}

/** A name, and one of its simplified forms. */
interface SimplifiedName {
  readonly form: string;
  readonly name: Text;
}

type NamesByForm = ReadonlyMap<string, readonly SimplifiedName[]>;

/** Quotes as in “A”, O’Hare and «A». Unicode's classes Pi and Pf lack ‚ (U+201A) and „ (U+201E). */
const TYPOGRAPHIC_QUOTE = /[\p{Pi}\p{Pf}\u201a\u201e]/u;

/** Returns sentences (marks) about the texts that are in `after` and not in `before`. */
export function markUnusual(before: CodeRows, after: CodeRows): string[] {
  const former = findTexts(before);
  const present = findTexts(after);
  const all = new Map([...former, ...present]);
  const namesByForm = groupNames([...all.values()]);
  const marks: string[] = [];
  for (const [identity, added] of present) {
    if (former.has(identity)) continue;
    const subject = `${added.place}: ${quote(added.text)}`;
    marks.push(...describeLooks(added.text).map((mark) => `${subject} ${mark}`));
    if (!added.isName) continue;
    if (TYPOGRAPHIC_QUOTE.test(added.text)) marks.push(`${subject} has a typographic quote`);
    const resembling = findResembling(added, namesByForm).map((other) => {
      const isRemoved = !present.has(identify(other));
      return isRemoved ? `${quote(other.text)}, which is removed` : quote(other.text);
    });
    if (resembling.length > 0) marks.push(`${subject} resembles ${resembling.join(', ')}`);
  }
  return marks;
}

/** Groups names by their simplified forms. A name has two forms (resemblance.ts), so it may be in two groups. */
function groupNames(texts: readonly Text[]): NamesByForm {
  const names = texts.filter(({ isName }) => isName);
  const forms = names.flatMap((name) => listForms(name).map((form) => ({ form, name })));
  return groupBy(forms, ({ form }) => form);
}

/** Returns the other names that share a form with this name, each once. */
function findResembling(added: Text, namesByForm: NamesByForm): Text[] {
  const sharing = listForms(added).flatMap((form) => namesByForm.get(form) ?? []);
  const others = new Map(sharing.map(({ name }) => [identify(name), name]));
  others.delete(identify(added));
  return [...others.values()];
}

/** Returns each text once, although each code of a type repeats the name of the type. */
function findTexts({ values, records }: CodeRows): Map<string, Text> {
  const texts: Text[] = values.map(({ codeList, value }) => ({ place: codeList, text: value, isName: true }));
  for (const record of records) {
    const { name: key, fields } = describeRecord(record);
    texts.push({ place: 'code types', text: record.codeType, isName: true });
    texts.push({ place: `code type ${quote(record.codeType)}`, text: record.code, isName: true });
    for (const [field, text] of Object.entries(fields)) {
      texts.push({ place: `${showInvisible(key)}, ${field}`, text, isName: false });
    }
  }
  return new Map(texts.map((text) => [identify(text), text]));
}

function identify({ place, text, isName }: Text): string {
  return JSON.stringify([place, text, isName]);
}

/** Returns the simplified forms of a name. Each contains the place, so names of two places never share a form. */
function listForms({ place, text }: Text): string[] {
  return simplify(text).map((form) => JSON.stringify([place, form]));
}

function quote(text: string): string {
  return showInvisible(JSON.stringify(text));
}
