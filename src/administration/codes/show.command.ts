import { type CodesSnapshot } from '../../codes/codes-snapshot.js';
import { lockTables, readEverything, timeOf } from '../../codes/everything.reader.js';
import { inPieces } from '../../codes/in-pieces.js';
import { beginOfRecord, gapsSince, readPast } from '../../codes/past.reader.js';
import type { Transaction } from '../../codes/rows.js';
import { AREAS, readSupportedValues } from '../../codes/supported-values/supported-values.js';
import type { Answer } from '../../http/answer.js';
import { AdministrationError, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { parseTime } from '../frame/time.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;
type Operation = (typeof OPERATIONS)[number];

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary:
    'prints the answer of now, or of a moment in the past or future: TIME such as 2027-01-01T00:00:00Z',
  options: { at: { type: 'string' }, area: { type: 'string' } },
  run: ({ at, area }) => {
    const moment = at === undefined ? undefined : timeIn(at);
    const wanted = OPERATIONS.filter((operation) => area === undefined || area === operation);
    if (wanted.length === 0)
      throw new AdministrationError(
        `--area is "${area}": ${OPERATIONS.join(', ')} are known. Without it all three are shown.`,
      );
    return withDatabase(async (client) => {
      await client.query(
        `begin isolation level repeatable read, read only; set local search_path = pg_catalog, public, pg_temp`,
      );
      const query = async (sql: string, parameters?: unknown[]): Promise<unknown> =>
        (await client.query(sql, parameters)).rows;
      const snapshot = await snapshotAt({ query } as Transaction, moment);
      const bodies = await Promise.all(wanted.map(async (one) => bodyOf(snapshot, one)));
      const titled = bodies.map((body, which) => `${wanted[which]}\n${body}\n`);
      return { text: area === undefined ? titled.join('\n') : bodies.join(''), exact: true };
    });
  },
});

function timeIn(text: string): number {
  const time = parseTime(text);
  if (time === undefined)
    throw new AdministrationError(
      `--at is "${text}": a date-time of RFC 3339 is needed, with its offset, such as 2027-01-01T00:00:00Z or 2027-01-01T00:00:00+01:00.`,
    );
  return time;
}

async function snapshotAt(
  transaction: Transaction,
  moment: number | undefined,
): Promise<CodesSnapshot> {
  await lockTables(transaction);
  const now = await timeOf(transaction);
  if (moment === undefined || moment >= now) {
    const present = await readEverything(transaction, await readSupportedValues(transaction));
    return moment === undefined ? present : inPieces(present.at(moment));
  }
  const begin = await beginOfRecord(transaction);
  if (begin === undefined || moment < begin)
    throw new AdministrationError(
      `--at is ${iso(moment)}: the record of changes ${begin === undefined ? 'is empty' : `begins at ${iso(begin)}`}, and what was answered before is not known.`,
    );
  const gaps = await gapsSince(transaction, moment);
  if (gaps.length > 0)
    throw new AdministrationError(
      `--at is ${iso(moment)}: the record of changes may be incomplete for ${gaps.join(' and ')} since then, so what was answered is not known. See \`doctor\` and the view change_history.`,
    );
  return readPast(transaction, moment);
}

async function bodyOf(snapshot: CodesSnapshot, operation: Operation): Promise<string> {
  const answer: Answer =
    operation === 'order-scheduling'
      ? await snapshot.communicationCodes.find({})
      : snapshot.supportedValues[operation];
  return Buffer.concat(answer.parts).toString();
}

const iso = (moment: number): string => new Date(moment).toISOString();
