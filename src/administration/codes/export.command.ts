import { stringify } from 'csv-stringify/sync';
import { command, refuse } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { LISTS, readRows } from '../lists/list-tables.js';

const NAMES = Object.keys(LISTS);

export const exportCommand = command({
  usage: NAMES.join('|'),
  operands: { least: 1, most: 1 },
  summary: 'prints CSV (RFC 4180) in the order of the answers, as `migrate new --from` reads it',
  run: async (_values, [name = '']) => {
    const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined;
    if (!list) refuse(`Which list? ${NAMES.join(' or ')} is needed.`);
    const rows = await withReading((client) => readRows(client, list));
    const text = stringify(rows, {
      columns: [...list.fileColumns],
      header: true,
      record_delimiter: '\r\n',
    });
    return { text, exact: true };
  },
});
