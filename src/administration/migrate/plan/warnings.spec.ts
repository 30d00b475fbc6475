import { expect, it } from '@jest/globals';
import { ALWAYS, type CodeRows } from '../../../lookups/code-rows.js';
import { warningsOf } from './warnings.js';

interface Code {
  readonly codeType: string;
  readonly code: string;
}

function rowsOf(records: readonly Code[]): CodeRows {
  const complete = records.map((record) => ({ ...record, description: 'x', ...ALWAYS }));
  return { properties: [], values: [], records: complete };
}

function inType(...codes: string[]): Code[] {
  return codes.map((code) => ({ codeType: 'Typ', code }));
}

it.each([
  {
    what: 'a code that differs from another only by case',
    former: inType('standard'),
    added: inType('STANDARD'),
    warning: 'code type "Typ": "STANDARD" differs from "standard" only by case, white space or Unicode form',
  },
  {
    what: 'a code that differs from another only by white space',
    former: inType('Left Message'),
    added: inType('LeftMessage'),
    warning: 'code type "Typ": "LeftMessage" differs from "Left Message" only by case, white space or Unicode form',
  },
  {
    what: 'a code that differs from another only by its Unicode form',
    former: inType('caf\u00e9'),
    added: inType('cafe\u0301'),
    warning: 'code type "Typ": "cafe\u0301" differs from "caf\u00e9" only by case, white space or Unicode form',
  },
  {
    what: 'a number that a spreadsheet rewrote',
    former: [],
    added: inType('1.23457E+17'),
    warning: 'code type "Typ": "1.23457E+17" looks like a number that a spreadsheet rewrote',
  },
  {
    what: 'characters that nobody sees',
    former: [],
    added: inType('LEFT\u200b'),
    warning: String.raw`code type "Typ": "LEFT\u200b" holds what nobody sees: U+200B`,
  },
])('asks about $what, once', ({ former, added, warning }) => {
  const before = rowsOf(former);
  const after = rowsOf([...former, ...added]);
  expect(warningsOf(before, after)).toEqual([warning]);
  expect(warningsOf(after, after)).toEqual([]);
});

it('says nothing of codes that are alike in two types', () => {
  const before = rowsOf(inType('A'));
  expect(warningsOf(before, rowsOf([...inType('A'), { codeType: 'Other', code: 'a' }]))).toEqual([]);
});
