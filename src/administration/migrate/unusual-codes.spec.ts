import { describe, expect, it } from '@jest/globals';
import { ALWAYS, type CodeRows } from '../../lookups/code-rows.js';
import { markUnusual } from './unusual-codes.js';

interface Code {
  readonly codeType: string;
  readonly code: string;
  readonly description: string;
}

function inType(codeType: string, ...codes: string[]): Code[] {
  return codes.map((code) => ({ codeType, code, description: 'x' }));
}

function toRows(codes: readonly Code[]): CodeRows {
  return { properties: [], values: [], records: codes.map((code) => ({ ...code, ...ALWAYS })) };
}

function mark(former: readonly Code[], added: readonly Code[]): string[] {
  return markUnusual(toRows(former), toRows([...former, ...added]));
}

describe('the mark that a new code resembles another code of its type', () => {
  it.each([
    { what: 'case', former: 'standard', added: 'STANDARD' },
    { what: 'case (SS is the capital form of ß)', former: 'Straße', added: 'STRASSE' },
    { what: 'white space', former: 'Left Message', added: 'LeftMessage' },
    { what: 'a dash', former: 'NO-ANSWER', added: 'NO–ANSWER' },
    { what: 'a minus sign', former: 'NO-ANSWER', added: 'NO\u2212ANSWER' },
    { what: 'leading zeros', former: '007', added: '7' },
    { what: 'zeros inside', former: 'A-07', added: 'A-7' },
    { what: 'zeros at the end of a decimal number', former: '1.10', added: '1.1' },
    { what: 'a decimal that is zero', former: '101', added: '101.0' },
    { what: 'the Unicode form of an accent', former: 'caf\u00e9', added: 'cafe\u0301' },
    { what: 'full width', former: 'A1', added: '\uff211' },
    { what: 'a letter of another alphabet', former: 'COPA', added: 'СОРА' },
    { what: 'case and a letter of another alphabet', former: 'copa', added: 'СОРА' },
    { what: 'a letter and a digit that look alike', former: 'NO', added: 'N0' },
    { what: 'two letters that look alike', former: 'AIl', added: 'AlI' },
    { what: 'a quote', former: "O'Hare", added: 'O´Hare' },
  ])('is set if the codes differ only in $what', ({ former, added }) => {
    expect(mark(inType('Typ', former), inType('Typ', added))).toContainEqual(
      `code type "Typ": "${added}" resembles "${former}"`,
    );
  });

  it.each([
    { what: 'a number', former: '70', added: '7' },
    { what: 'a decimal number', former: '1.05', added: '1.5' },
    { what: 'a letter', former: 'A', added: 'B' },
    { what: 'the capitals L and I, although I looks like a small l', former: 'BALL', added: 'BAIL' },
    { what: 'a zero at the end of a whole number', former: '100', added: '10' },
  ])('is not set if the codes differ in $what', ({ former, added }) => {
    expect(mark(inType('Typ', former), inType('Typ', added))).toEqual([]);
  });

  it('is not set if the codes have different types, or if both codes were there before', () => {
    expect(mark(inType('One', 'A'), inType('Other', 'a'))).toEqual([]);
    expect(mark(inType('One', 'A', 'a'), inType('One', 'B'))).toEqual([]);
  });

  it('is set, too, if the same plan removes the other code', () => {
    const before = toRows(inType('Typ', '007', 'B'));
    const after = toRows(inType('Typ', '7', 'B'));
    expect(markUnusual(before, after)).toEqual(['code type "Typ": "7" resembles "007", which is removed']);
  });
});

it.each([
  { former: 'Appointment', added: 'APPOINTMENT' },
  { former: 'COPA', added: 'СОРА' },
])('a code type that resembles another type is marked once: $added', ({ former, added }) => {
  expect(mark(inType(former, 'A', 'B'), inType(added, 'C', 'D'))).toEqual([
    `code types: "${added}" resembles "${former}"`,
  ]);
});

describe('the marks of new texts', () => {
  it.each([
    {
      mark: 'looks like a day that a spreadsheet made',
      texts: ['2-Mar', '02. Mrz', '1-Sep-26', '30-Jun', '31-Dez', '01-févr', '02/mar', '02.мар', '2.maalis', '02-paź'],
    },
    {
      mark: 'looks like a day that a spreadsheet made',
      texts: ['Mar-27', 'Mrz 27', 'мар.27', 'févr.-27', '01.02.2026', '1/2/26', '2026-03-01'],
    },
    { mark: 'looks like a day that a spreadsheet made', texts: ['3月2日', '3월 2일', '2026年3月2日'] },
    { mark: 'looks like a time of day that a spreadsheet made', texts: ['01:02:00', '1:02 AM'] },
    {
      mark: 'looks like a number with an exponent that a spreadsheet made',
      texts: ['1.23457E+17', '1,23457E+17', '1E5', '-2.5E-07'],
    },
    {
      mark: 'looks like a long number that a spreadsheet cut to fifteen digits',
      texts: ['123456789012345000', '1234567890123450'],
    },
    { mark: 'looks like a truth value that a spreadsheet made', texts: ['TRUE', 'False'] },
    {
      mark: 'looks like an error or a placeholder that a spreadsheet made',
      texts: ['#NAME?', '#DIV/0!', '#name?', '#ÜBERLAUF!', '#U\u0308BERLAUF!', '#¿NOMBRE?', '#ССЫЛКА!'],
    },
    {
      mark: 'looks like an error or a placeholder that a spreadsheet made',
      texts: ['#N/A', '#NV', '#YOK', '#I/T', '#Н/Д', '#GETTING_DATA', '#NENÍ_K_DISPOZICI'],
    },
    {
      mark: 'looks like an error or a placeholder that a spreadsheet made',
      texts: ['Err:502', 'Błąd:502', 'Ошибка:502', '########', '(blank)', '(leer)', '(en blanco)', '(空白)'],
    },
    {
      mark: 'looks like a missing value that a script made',
      texts: ['NaN', 'NULL', 'N/A', 'NA', '<NA>', 'NaT', 'None', 'undefined', '1.#QNAN', '\\N', '[object Object]'],
    },
    { mark: 'looks like a whole number to which a script added a decimal point', texts: ['101.0', '-7,00'] },
    { mark: 'is a formula', texts: ['="007"', '=A2&B2', '=cmd|A1', '+SUM(A1)', '@NOW()'] },
    { mark: 'begins with the apostrophe that keeps a number as text in a spreadsheet', texts: ["'007", "'-1"] },
    {
      mark: 'has damaged characters: a program has read or written it in a wrong encoding',
      texts: ['ZÃ¼rich', 'KÃ–LN', 'MaÅ¡a', '20Â°', 'Itâ€™s', 'cafÃ©', 'ðŸ˜€', 'Ð¼Ð¾', 'РЎРІСЏР·СЊ', '锟斤拷'],
    },
    {
      mark: 'has damaged characters: a program has read or written it in a wrong encoding',
      texts: ['Z√ºrich', 'caf√©', 'Z├╝rich', '20┬░', 'Z?rich', '????', 'Z\ue000rich'],
    },
    {
      mark: 'has damaged characters: a program has read or written it in a wrong encoding',
      texts: ['R&amp;D', 'R&#38;D', 'R&#x26;D'],
    },
    { mark: 'has U+FFFD, the sign of a character that a program could not read', texts: ['Z\ufffdrich'] },
    { mark: 'has letters of Latin and Cyrillic in one word', texts: ['СONFIRMED', 'NO-АNSWER'] },
    { mark: 'has letters of Latin and Greek in one word', texts: ['CΟDE'] },
    { mark: 'has letters of Latin and Armenian in one word', texts: ['Օpen'] },
    { mark: 'has letters of Latin and Georgian in one word', texts: ['Yესტ'] },
    { mark: 'has letters of Latin and Cherokee in one word', texts: ['ᎪBC'] },
    { mark: 'has letters of Latin and Coptic in one word', texts: ['ⲞPEN'] },
    { mark: 'has letters of Latin and Hebrew in one word', texts: ['Aס'] },
    { mark: 'has letters of Latin and Arabic in one word', texts: ['Aه'] },
    { mark: 'has a typographic quote', texts: ['“A”', 'O’Hare', '«A»', '„A'] },
  ])('"$mark" is the mark of $texts', ({ mark: expected, texts }) => {
    for (const text of texts) {
      expect(mark([], inType('Typ', text))).toEqual([`code type "Typ": ${JSON.stringify(text)} ${expected}`]);
    }
  });

  it.each([
    { what: 'short names', texts: ['A', 'Mar', 'What?', "Driver's", 'R&D', 'Truest', '#A', 'NA-1'] },
    { what: 'numbers', texts: ['1.5', '10.5', '1.2.3', '12345678901234567', '#1', '+1', '-1', '1-2', '12E', 'E+17'] },
    { what: 'names with a number', texts: ['MAR2', '10-LTL', '12-PCK', '48-Feet', '2 pallets', 'Type 5', 'Level-5'] },
    { what: 'names with a colon and a number', texts: ['A:12', 'Fare:12'] },
    { what: 'names with accents', texts: ['CAFÉ', 'Łódź', 'Ünïcödé', 'Sørensen', 'ÅÄÖ'] },
    { what: 'names in other alphabets', texts: ['Доставка DHL', 'СССР', '日本語OK', '東京'] },
  ])('there is no mark for $what: $texts', ({ texts }) => {
    for (const text of texts) expect(mark([], inType('Typ', text))).toEqual([]);
  });

  it('a code type and a description are marked, too, each once', () => {
    const codes = [
      { codeType: '2-Mar', code: 'A', description: '#REF!' },
      { codeType: '2-Mar', code: 'B', description: 'the driver’s note' },
    ];
    expect(mark([], codes)).toEqual([
      'code types: "2-Mar" looks like a day that a spreadsheet made',
      'codeType "2-Mar", code "A", description: "#REF!" looks like an error or a placeholder that a spreadsheet made',
    ]);
  });
});
