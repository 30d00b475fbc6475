import { stringify } from 'csv-stringify/sync';
import { AREAS } from '../../lookups/code-rows.js';
import { CodesSnapshot } from '../../lookups/codes-snapshot.js';
import { lockTables, readCodes } from '../../lookups/read-codes.js';
import { RefusedSnapshot } from '../../snapshots/source.js';
import { readPast } from './read-past.js';
import { TEXT, command, refuse } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { momentOf } from '../frame/time.js';
import { LISTS, type Table, readRows } from '../lists/list-tables.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary:
    'prints the answer of now, or of a moment past or future, such as 2027-01-01T00:00:00Z or 2027-01-01',
  options: { at: TEXT, area: TEXT },
  run: async ({ at, area }) => {
    const time = at === undefined ? undefined : momentOf('--at', at);
    const wanted = OPERATIONS.filter((operation) => area === undefined || area === operation);
    if (wanted.length === 0) refuse(`--area is "${area}": ${OPERATIONS.join(', ')} are known.`);
    const snapshot = await withDatabase(async (_session, manager) => {
      await lockTables(manager);
      const [row] = await manager.query<{ now: Date }[]>('select now()');
      const now = Number(row?.now);
      const moment = time === undefined ? now : Date.parse(time);
      const rows = moment < now ? await readPast(manager, moment) : await readCodes(manager);
      return new CodesSnapshot(rows, moment);
    }).catch((error: Error) => {
      if (!(error instanceof RefusedSnapshot)) throw error;
      return refuse(
        `The content of ${at ?? 'now'} could not be served: ${error.message}. Callers got the answers of the content before it.`,
      );
    });
    const texts: string[] = [];
    for (const operation of wanted) {
      const isList = operation === 'order-scheduling';
      const answer = isList ? snapshot.communicationCodes({}) : snapshot.supportedValues(operation);
      const body = String((await answer).body);
      texts.push(area === undefined ? `${operation}\n${body}\n` : body);
    }
    return { text: texts.join('\n'), exact: true };
  },
});

export const exportCommand = command({
  usage: 'communication-codes|code-lists',
  operands: { least: 1, most: 1 },
  summary: 'prints CSV (RFC 4180) in the order of the answers',
  run: async (_values, [name = '']) => {
    const list = Object.entries<Table>(LISTS).find(([known]) => known === name)?.[1];
    if (!list) refuse(`Which list? ${Object.keys(LISTS).join(' or ')} is needed.`);
    const rows = await withDatabase((client) => readRows(client, list));
    const text = stringify(rows, { columns: list.columns, header: true, record_delimiter: '\r\n' });
    return { text, exact: true };
  },
});
