import { Argument, Command } from 'commander';
import { stringify } from 'csv-stringify/sync';
import { withReading } from '../cli/transaction.js';
import { LISTS, type List, readRows } from '../lists/list-tables.js';

const which = new Argument('<LIST>', 'which list').choices(Object.keys(LISTS));

export const exportList = new Command('export')
  .addArgument(which)
  .description('prints CSV (RFC 4180) in the order of the answers, as `migrate new --from` reads it')
  .action(async (name: string) => {
    const list = LISTS[name] as List; // one of the choices
    const rows = await withReading((session) => readRows(session, list));
    const text = stringify(rows, {
      columns: [...list.fileColumns],
      header: true,
      record_delimiter: '\r\n',
    });
    process.stdout.write(text);
  });
