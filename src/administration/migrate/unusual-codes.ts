// What a plan adds and nobody can have meant: a name that another one of its list or type resembles, and a text that a
// spreadsheet has probably made. It is marked; whether it is right, only people know.
import { groupBy } from '../../collections/group-by.js';
import type { CodeRows } from '../../lookups/code-rows.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { describeRecord } from './code-changes.js';

/** Languages of spreadsheets whose months are known. */
const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl', 'sv', 'da', 'cs'];
const MONTHS = new Set([...LANGUAGES.flatMap(listMonths), 'Mrz']); // the last is Excel's, in German
const MONTH = `(?:${[...MONTHS].join('|')})`;
const DAY = [
  String.raw`\d{1,2}[-. /]{1,2}${MONTH}\.?(?:[-. /]{1,2}\d{2,4})?`, // 2-Mar, 02. Mrz, 2-Mar-27: it was 2-3 or MAR2
  String.raw`${MONTH}\.?[-. /]{1,2}\d{2,4}`, // Mar-27
  String.raw`\d{1,2}([-./])\d{1,2}\1(?:\d{2}|\d{4})`,
  String.raw`\d{4}([-./])\d{1,2}\2\d{1,2}(?: \d{1,2}:\d{2}(?::\d{2})?)?`,
];

/** What a spreadsheet makes of a text that was not meant so. */
const SPREADSHEET_LOOKS = [
  { look: 'a day', form: new RegExp(`^(?:${DAY.join('|')})$`, 'iu') },
  { look: 'a number with an exponent', form: /^-?\d+(?:[.,]\d+)?E[+-]?\d+$/i },
  { look: 'a number of which only fifteen digits are left', form: /^-?\d{15}0+$/ },
  {
    look: 'a truth value',
    form: /^(?:true|false|wahr|falsch|vrai|faux|verdadero|falso|vero|waar|onwaar|verdadeiro)$/i,
  },
  // #NAME?, #REF!, #DIV/0!, #¿NOMBRE?; Err:502; a column that is too narrow; a missing value
  {
    look: 'an error or a placeholder',
    form: /^(?:#[¡¿]?[\p{Lu}\d/_]+[!?]|#(?:n\/?[ad]|nv)|err:\d{3}|#{3,}|n\/?a|nan|null|none|\((?:blank|leer)\))$/iu,
  },
];

/** What people do not see or mean when they compare two names, as what makes them equal. */
const RESEMBLANCES: readonly ((name: string) => string)[] = [
  (name) => name.normalize('NFKC'), // the Unicode form
  (name) => name.toLowerCase(), // case
  (name) => name.replaceAll(/\s/gu, ''), // white space
  (name) => name.replaceAll(/[\p{Pd}\u2212]/gu, '-'), // the dash
  (name) => name.replaceAll(/(?<!\d)0+(?=\d)/g, ''), // leading zeros
];

/** A value of a list, a code of a type, or another text beside them. */
interface Text {
  /** What the list or the type is called. */
  readonly place: string;
  readonly text: string;
  /** Only names are told from each other by people. */
  readonly isName: boolean;
}

/** A sentence for each, about texts that `before` lacks. */
export function markUnusual(before: CodeRows, after: CodeRows): string[] {
  const known = new Set(findTexts(before).map(identify));
  const texts = findTexts(after);
  const alike = groupBy(
    texts.filter(({ isName }) => isName),
    simplify,
  );
  const marks: string[] = [];
  for (const added of texts) {
    if (known.has(identify(added))) continue;
    known.add(identify(added)); // once, however often it stands there
    const { place, text } = added;
    const subject = `${place}: ${quote(text)}`;
    for (const { look, form } of SPREADSHEET_LOOKS) {
      if (form.test(text)) marks.push(`${subject} looks like ${look} that a spreadsheet made`);
    }
    if (!added.isName) continue;
    const others = (alike.get(simplify(added)) ?? []).filter((other) => other.text !== text);
    if (others.length > 0) marks.push(`${subject} resembles ${others.map((other) => quote(other.text)).join(', ')}`);
  }
  return marks;
}

function findTexts({ values, records }: CodeRows): Text[] {
  const texts: Text[] = values.map(({ codeList, value }) => ({ place: codeList, text: value, isName: true }));
  for (const record of records) {
    const { name, fields } = describeRecord(record);
    texts.push({ place: 'code types', text: record.codeType, isName: false });
    texts.push({ place: `code type ${quote(record.codeType)}`, text: record.code, isName: true });
    for (const [field, text] of Object.entries(fields)) {
      texts.push({ place: `${showInvisible(name)}, ${field}`, text, isName: false });
    }
  }
  return texts;
}

function identify({ place, text, isName }: Text): string {
  return JSON.stringify([place, text, isName]);
}

/** Equal for names that people take for each other. */
function simplify({ place, text }: Text): string {
  return JSON.stringify([place, RESEMBLANCES.reduce((name, simplifyName) => simplifyName(name), text)]);
}

function quote(text: string): string {
  return showInvisible(JSON.stringify(text));
}

/** Without the points with which some languages shorten them. */
function listMonths(language: string): string[] {
  const months = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2026, month)));
  const names = (['short', 'long'] as const).flatMap((style) =>
    months.map((month) => month.toLocaleString(language, { month: style, timeZone: 'UTC' })),
  );
  return names.map((name) => name.replace('.', ''));
}
