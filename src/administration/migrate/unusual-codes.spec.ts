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

describe('a code that resembles another one of its type is marked where it differs only by', () => {
  it.each([
    { what: 'case', former: 'standard', added: 'STANDARD' },
    { what: 'white space', former: 'Left Message', added: 'LeftMessage' },
    { what: 'a dash', former: 'NO-ANSWER', added: 'NO–ANSWER' },
    { what: 'a minus sign', former: 'NO-ANSWER', added: 'NO\u2212ANSWER' },
    { what: 'leading zeros', former: '007', added: '7' },
    { what: 'zeros inside', former: 'A-07', added: 'a-7' },
    { what: 'Unicode form', former: 'caf\u00e9', added: 'cafe\u0301' },
    { what: 'full width', former: 'A1', added: '\uff211' },
  ])('$what', ({ former, added }) => {
    expect(mark(inType('Typ', former), inType('Typ', added))).toEqual([
      `code type "Typ": "${added}" resembles "${former}"`,
    ]);
  });

  it.each([
    { what: 'another number', former: '70', added: '7' },
    { what: 'another letter', former: 'A', added: 'B' },
    { what: 'a zero that is no leading one', former: '100', added: '10' },
  ])('and not by $what', ({ former, added }) => {
    expect(mark(inType('Typ', former), inType('Typ', added))).toEqual([]);
  });

  it('and not where the other one is of another type, or both were there before', () => {
    expect(mark(inType('One', 'A'), inType('Other', 'a'))).toEqual([]);
    expect(mark(inType('One', 'A', 'a'), inType('One', 'B'))).toEqual([]);
  });
});

describe('what a spreadsheet has probably made is marked:', () => {
  it.each([
    {
      look: 'a day',
      texts: ['2-Mar', '02. Mrz', '1-Sep-26', 'Mar-27', '01.02.2026', '1/2/26', '2026-03-01', '01-févr'],
    },
    { look: 'a number with an exponent', texts: ['1.23457E+17', '1,23457E+17', '1E5', '-2.5E-07'] },
    { look: 'a number of which only fifteen digits are left', texts: ['123456789012345000', '1234567890123450'] },
    { look: 'a truth value', texts: ['TRUE', 'False', 'WAHR', 'VRAI'] },
    {
      look: 'an error or a placeholder',
      texts: [
        '#NAME?',
        '#N/A',
        '#NV',
        '#DIV/0!',
        '#ÜBERLAUF!',
        '#¿NOMBRE?',
        'Err:502',
        '########',
        'NaN',
        'NULL',
        'N/A',
        '(blank)',
      ],
    },
  ])('$look', ({ look, texts }) => {
    for (const text of texts) {
      expect(mark([], inType('Typ', text))).toEqual([
        `code type "Typ": "${text}" looks like ${look} that a spreadsheet made`,
      ]);
    }
  });

  it.each([
    'A',
    'MAR2',
    '10-LTL',
    '12-PCK',
    'Mar',
    '1.5',
    '12E',
    'E+17',
    '1-2',
    '12345678901234567',
    '#1',
    'Truest',
    'NA-1',
  ])('and not %s', (text) => {
    expect(mark([], inType('Typ', text))).toEqual([]);
  });

  it('in a code type and a description as well, each once', () => {
    const codes = [
      { codeType: '2-Mar', code: 'A', description: '#REF!' },
      { codeType: '2-Mar', code: 'B', description: 'x' },
    ];
    expect(mark([], codes)).toEqual([
      'code types: "2-Mar" looks like a day that a spreadsheet made',
      'codeType "2-Mar", code "A", description: "#REF!" looks like an error or a placeholder that a spreadsheet made',
    ]);
  });
});
