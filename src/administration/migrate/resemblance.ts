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
  (name) => name.replace(/^(?<short>-?\d+[.,]\d*[1-9])0+$/, '$<short>'), // 1.10 and 1.1, which a spreadsheet writes
  (name) => name.replaceAll(/(?<!\d[.,]?)0+(?=\d)/g, ''), // zeros before a number: 007 and 7, but not 1.05 and 1.5
];

/**
 * Returns two simplified forms of a name. The first is in lower case, so that FlatBed equals Flatbed. The second keeps
 * the case, because some letters look alike only so: the capital I looks like l, but in lower case it would be i.
 */
export function simplify(name: string): readonly string[] {
  const simple = SIMPLIFICATIONS.reduce((text, simplifyText) => simplifyText(text), name);
  const lowerCase = simple.toUpperCase().toLowerCase(); // toUpperCase comes first, because it makes SS of ß
  // Each form is compared only with forms of its label. Otherwise I as written (l) would equal L in lower case (l)
  return [`lower case: ${unhomoglyph(lowerCase)}`, `as written: ${unhomoglyph(simple)}`];
}
