// Finds texts that are probably mistakes. Spreadsheets write months and errors in many languages, so the patterns for
// days and errors contain no words.

/** A short name of a month: Mar, mars or maalis. Later letters must be lower case, because 10-LTL is a code. */
const MONTH_NAME = String.raw`\p{L}\p{Ll}{2,5}`;
const DAY_OF_MONTH = String.raw`(?:0?[1-9]|[12]\d|3[01])`;
const YEAR = String.raw`(?:\d{2}|\d{4})`;
/** The separator after a day depends on the language: 2-Mar, 02/mar, 02.мар, 02. Mrz. */
const AFTER_DAY = String.raw`(?:-|/|\.|\. )`;
/** The separator between month and year: Mar-27, mar/27, мар.27, févr.-27. */
const AFTER_MONTH = String.raw`(?:-|/|\.|\.-)`;
/** Perhaps a year after the month, such as the end of 2-Mar-27. */
const PERHAPS_YEAR = String.raw`(?:[-./ ]{1,2}\d{2,4})?`;

const DAYS = {
  dayAndMonthName: new RegExp(`^${DAY_OF_MONTH}${AFTER_DAY}${MONTH_NAME}\\.?${PERHAPS_YEAR}$`, 'u'), // 2-Mar
  monthNameAndYear: new RegExp(`^${MONTH_NAME}${AFTER_MONTH}${YEAR}$`, 'u'), // Mar-27
  monthNameSpaceYear: /^\p{Lu}\p{Ll}{2} \d{2}$/u, // Mrz 27
  eastAsianDay: /^(?:\d{4}\p{Lo} ?)?\d{1,2}\p{Lo} ?\d{1,2}\p{Lo}$/u, // 2026年3月2日
  numbersThenYear: new RegExp(String.raw`^\d{1,2}(?<separator>[-./])\d{1,2}\k<separator>${YEAR}$`, 'u'), // 01.02.2026
  yearThenNumbers: /^\d{4}(?<mark>[-./])\d{1,2}\k<mark>\d{1,2}(?: \d{1,2}:\d{2}(?::\d{2})?)?$/u, // 2026-03-01 00:00
};

const TIME_OF_DAY = /^\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?$/i; // 1:02 AM
const EXPONENT = /^-?\d+(?:[.,]\d+)?E[+-]?\d+$/i; // 1.23457E+17
const ZEROS_AFTER_15_DIGITS = /^-?\d{15}0+$/; // 123456789012345000
const TRUTH_VALUE = /^(?:true|false)$/i; // TRUE
const WHOLE_DECIMAL = /^-?\d+[.,]0+$/; // 101.0
const APOSTROPHE_BEFORE_NUMBER = /^['\u2019][-+=]?\d/; // '007
const REPLACEMENT_CHARACTER = /\ufffd/; // Z\ufffdrich

const ERRORS_AND_PLACEHOLDERS = {
  errorWithPunctuation: /^#[¡¿]?[\p{L}\d/_]+[!?]$/u, // #NAME?
  errorInCapitals: /^#\p{Lu}[\p{Lu}\d/_]+$/u, // #N/A
  numberedError: /^\p{Lu}\p{Ll}+ ?:5\d\d$/u, // Err:502
  tooNarrowColumn: /^#{3,}$/, // ########
  emptyCellOfPivotTable: /^\([\p{Ll}\p{Lo} ]+\)$/u, // (blank)
};

const MISSING_VALUES = {
  notAvailable: /^<?n\/?a>?$/i, // <NA>
  notANumberOrTime: /^(?:nat|-?nan|1\.#ind|1\.#qnan)$/i, // NaN
  nullOfALanguage: /^(?:null|none|nil|undefined|\\n)$/i, // undefined
  objectOfJavaScript: /^\[object object\]$/i, // [object Object]
};

const FORMULAS = {
  equalsSign: /^=/, // =A2&B2
  signAndFunction: /^[-+@]\p{Lu}[\p{Lu}.]*\(/u, // +SUM(A1)
};

/** In UTF-8, the later bytes of a character are 80 to BF. Windows-1252 reads these bytes as the characters below. */
const LATER_BYTE =
  '[\\u0080-\\u00bf\\u0152\\u0153\\u0160\\u0161\\u0178\\u017d\\u017e\\u0192\\u02c6\\u02dc\\u2013\\u2014\\u2018-\\u201a' +
  '\\u201c-\\u201e\\u2020-\\u2022\\u2026\\u2030\\u2039\\u203a\\u20ac\\u2122]';

/** UTF-8 read as Windows-1252. The first byte of a character says how many later bytes it has. */
const UTF8_READ_AS_WINDOWS_1252 = {
  firstByteC2ToC5: new RegExp(`[ÂÃÄÅ]${LATER_BYTE}`, 'u'), // ZÃ¼rich, which was Zürich
  // Two such characters are needed, because É’ alone may be right, as in CAFÉ’S
  twiceFirstByteC6ToDF: new RegExp(`(?:[Æ-ß]${LATER_BYTE}){2}`, 'u'), // Ð”Ð°, which was Да
  firstByteE0ToEF: new RegExp(`[à-ï]${LATER_BYTE}{2}`, 'u'), // Itâ€™s, which was It’s
  firstByteF0ToF4: new RegExp(`[ð-ô]${LATER_BYTE}{3}`, 'u'), // ðŸ˜€, which was 😀
};

/** UTF-8 read in other encodings. */
const UTF8_READ_WRONGLY = {
  asMacOsRoman: /(?:√|‚Ä)\P{ASCII}/u, // Z√ºrich, which was Zürich
  asCodePage850: /[├┬]\P{ASCII}/u, // Z├╝rich, which was Zürich
  // Each Cyrillic letter becomes Р or С and another character. Two such pairs are not enough, because СССР looks so
  asWindows1251: /(?:[\u0420\u0421]\P{ASCII}){3}/u, // РЎРІСЏР·СЊ, which was Связь
  replacementCharactersAsGbk: /锟斤拷/u, // 锟斤拷, which was U+FFFD twice
};

const OTHER_DAMAGE = {
  questionMarkInWord: /\p{L}\?+\p{L}/u, // Z?rich: the encoding of the file lacks the character
  onlyQuestionMarks: /^\?+$/u, // ????: the encoding lacks all characters of the text
  escapeOfHtml: /&(?:[a-z]{2,6}|#\d+|#x[\da-f]+);/u, // R&amp;D
  symbolFont: /\p{Co}/u, // U+E000
};

const DAMAGE = { ...UTF8_READ_AS_WINDOWS_1252, ...UTF8_READ_WRONGLY, ...OTHER_DAMAGE };

/** A text gets the mark if it matches one of the patterns. */
interface Look {
  readonly mark: string;
  readonly patterns: readonly RegExp[];
}

const LOOKS: readonly Look[] = [
  { mark: 'looks like a day that a spreadsheet made', patterns: Object.values(DAYS) },
  { mark: 'looks like a time of day that a spreadsheet made', patterns: [TIME_OF_DAY] },
  { mark: 'looks like a number with an exponent that a spreadsheet made', patterns: [EXPONENT] },
  { mark: 'looks like a long number that a spreadsheet cut to fifteen digits', patterns: [ZEROS_AFTER_15_DIGITS] },
  { mark: 'looks like a truth value that a spreadsheet made', patterns: [TRUTH_VALUE] },
  {
    mark: 'looks like an error or a placeholder that a spreadsheet made',
    patterns: Object.values(ERRORS_AND_PLACEHOLDERS),
  },
  { mark: 'looks like a missing value that a script made', patterns: Object.values(MISSING_VALUES) },
  { mark: 'looks like a whole number to which a script added a decimal point', patterns: [WHOLE_DECIMAL] },
  { mark: 'is a formula', patterns: Object.values(FORMULAS) },
  {
    mark: 'begins with the apostrophe that keeps a number as text in a spreadsheet',
    patterns: [APOSTROPHE_BEFORE_NUMBER],
  },
  {
    mark: 'has damaged characters: a program has read or written it in a wrong encoding',
    patterns: Object.values(DAMAGE),
  },
  { mark: 'has U+FFFD, the sign of a character that a program could not read', patterns: [REPLACEMENT_CHARACTER] },
];

/** Letters of one of these alphabets may look like letters of another one. */
const ALPHABETS = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Georgian', 'Cherokee', 'Coptic', 'Hebrew', 'Arabic'];
const LETTERS = ALPHABETS.map((alphabet) => ({ alphabet, letter: new RegExp(`\\p{Script=${alphabet}}`, 'u') }));

/** Returns marks such as "looks like a day that a spreadsheet made". */
export function describeLooks(text: string): string[] {
  const composed = text.normalize('NFC');
  const looks = LOOKS.filter(({ patterns }) => patterns.some((pattern) => pattern.test(composed)));
  const marks = looks.map(({ mark }) => mark);
  for (const word of composed.match(/[\p{L}\p{M}]+/gu) ?? []) {
    const alphabets = LETTERS.filter(({ letter }) => letter.test(word)).map(({ alphabet }) => alphabet);
    if (alphabets.length > 1) marks.push(`has letters of ${alphabets.join(' and ')} in one word`);
  }
  return [...new Set(marks)];
}
