import { AdministrationError, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { LISTS, exportList } from '../lists/list-tables.js';

export const exportCommand = command({
  usage: 'communication-codes|code-lists',
  summary: 'prints CSV (RFC 4180) with the columns of the table, in the order of the answers',
  operands: [1, 1],
  run: async (_values, [name = '']) => {
    const list = Object.hasOwn(LISTS, name) ? LISTS[name] : undefined;
    if (!list)
      throw new AdministrationError(
        `"${name}" cannot be exported: ${Object.keys(LISTS).join(' or ')} is needed.`,
      );
    return withDatabase(async (client) => ({ text: await exportList(client, list), exact: true }));
  },
});
