// Names that people take for each other. Two names resemble each other if one of their simplified forms is equal.
import unhomoglyph from 'unhomoglyph';

/** Each function removes a difference that people overlook. */
const SIMPLIFICATIONS: readonly ((name: string) => string)[] = [
  // Before the Unicode form, which makes a space and an accent of an acute accent (U+00B4)
  (name) => name.replaceAll(/[\p{Quotation_Mark}`\u00b4\u2032\u2033]/gu, "'"),
  (name) => name.normalize('NFKD'),
  (name) => name.replaceAll(/\s/gu, ''),
  (name) => name.replaceAll(/\p{Dash}/gu, '-'),
  // A spreadsheet writes 1.1 for 1.10, and a script 101.0 for 101
  (name) => name.replace(/(?<=^-?\d+)[.,]0+$|(?<=^-?\d+[.,]\d*[1-9])0+$/, ''),
  (name) => name.replaceAll(/(?<!\d[.,]?)0+(?=\d)/g, ''),
];

/**
 * Returns the simplified forms of a name: one for names that differ by case, and one for look-alikes such as I and l, of
 * which the first form makes i and l.
 */
export function simplify(name: string): readonly string[] {
  const simple = SIMPLIFICATIONS.reduce((text, simplifyText) => simplifyText(text), name);
  // Upper case first: of ß and of SS it makes the same
  const forms = [simple.toUpperCase().toLowerCase(), simple];
  return forms.map((form, index) => `${index} ${unhomoglyph(form)}`);
}
