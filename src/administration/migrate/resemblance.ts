// Simplifies names, to find those that people confuse. Two names resemble each other if they have a form in common.
import unhomoglyph from 'unhomoglyph';

/** Each function removes a difference that people overlook. */
const SIMPLIFICATIONS: readonly ((name: string) => string)[] = [
  // Before the next line: NFKD turns an acute accent (U+00B4) into a space and a combining accent
  (name) => name.replaceAll(/[\p{Quotation_Mark}`\u00b4\u2032\u2033]/gu, "'"),
  (name) => name.normalize('NFKD'),
  (name) => name.replaceAll(/\s/gu, ''),
  (name) => name.replaceAll(/\p{Dash}/gu, '-'),
  // A spreadsheet writes 1.1 instead of 1.10, a script 101.0 instead of 101
  (name) => name.replace(/(?<=^-?\d+)[.,]0+$|(?<=^-?\d+[.,]\d*[1-9])0+$/, ''),
  (name) => name.replaceAll(/(?<!\d[.,]?)0+(?=\d)/g, ''),
];

/**
 * Returns two simplified forms of a name. Names that differ by case have an equal first form. Names with look-alikes
 * such as I and l have an equal second form: in the first these are i and l.
 */
export function simplify(name: string): readonly string[] {
  const simple = SIMPLIFICATIONS.reduce((text, simplifyText) => simplifyText(text), name);
  // Upper case first: the upper case of ß is SS
  const forms = [simple.toUpperCase().toLowerCase(), simple];
  return forms.map((form, index) => `${index} ${unhomoglyph(form)}`);
}
