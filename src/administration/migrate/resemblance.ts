// Simplifies names, to find names that people confuse: two names resemble each other if they share a simplified form.
import unhomoglyph from 'unhomoglyph';

/** The steps of the simplification. Each removes a difference that people overlook. */
const SIMPLIFICATIONS: readonly ((name: string) => string)[] = [
  // Lowe’s and Lowe's. This step comes before NFKD, which splits the quote ´ (U+00B4) into a space and an accent
  (name) => name.replaceAll(/[\p{Quotation_Mark}`\u00b4\u2032\u2033]/gu, "'"),
  (name) => name.normalize('NFKD'), // full-width Ａ1 and A1
  (name) => name.replaceAll(/\s/gu, ''), // "Home Phone" and HomePhone
  (name) => name.replaceAll(/\p{Dash}/gu, '-'), // A–1 and A-1
  (name) => name.replace(/^(?<whole>-?\d+)[.,]0+$/, '$<whole>'), // 101.0, which a script writes, and 101
  (name) => name.replace(/^(?<short>-?\d+[.,]\d*[1-9])0+$/, '$<short>'), // 1.10 and 1.1, as a spreadsheet writes it
  (name) => name.replaceAll(/(?<!\d[.,]?)0+(?=\d)/g, ''), // 007 and 7, but not 1.05 and 1.5: no zero after a digit
];

/**
 * Returns two simplified forms of a name. The first is in lower case, so that FlatBed equals Flatbed. The second keeps
 * the case, because a capital I looks like l, and a small i does not.
 */
export function simplify(name: string): readonly string[] {
  const simple = SIMPLIFICATIONS.reduce((text, simplifyText) => simplifyText(text), name);
  const lowerCase = simple.toUpperCase().toLowerCase(); // toUpperCase comes first, because it makes SS of ß
  // Without labels, the names I and L would resemble each other: I as written and L in lower case both become l
  return [`lower case: ${unhomoglyph(lowerCase)}`, `as written: ${unhomoglyph(simple)}`];
}
