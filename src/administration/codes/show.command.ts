import { AREAS } from '../../codes/code-rows.js';
import { CodesSnapshot } from '../../codes/codes-snapshot.js';
import { lockTables, readCodes } from '../../codes/read-codes.js';
import { beginOfRecord, readPast } from '../../codes/read-past.js';
import { AdministrationError, TEXT, command } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { parseTime } from '../frame/time.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary:
    'prints the answer of now, or of a moment in the past or future: TIME such as 2027-01-01T00:00:00Z',
  options: { at: TEXT, area: TEXT },
  run: async ({ at, area }) => {
    const moment = at === undefined ? undefined : parseTime(at);
    if (at !== undefined && moment === undefined)
      throw new AdministrationError(
        `--at is "${at}": a date-time of RFC 3339 is needed, with its offset, such as 2027-01-01T00:00:00Z or 2027-01-01T00:00:00+01:00.`,
      );
    const wanted = OPERATIONS.filter((operation) => area === undefined || area === operation);
    if (wanted.length === 0)
      throw new AdministrationError(`--area is "${area}": ${OPERATIONS.join(', ')} are known.`);
    const snapshot = await snapshotAt(moment === undefined ? undefined : Date.parse(moment));
    const texts: string[] = [];
    for (const operation of wanted) {
      const { parts } =
        operation === 'order-scheduling'
          ? await snapshot.communicationCodes({})
          : snapshot.supportedValues(operation);
      const body = Buffer.concat(parts).toString();
      texts.push(area === undefined ? `${operation}\n${body}\n` : body);
    }
    return { text: texts.join('\n'), exact: true };
  },
});

const snapshotAt = (at?: number): Promise<CodesSnapshot> =>
  withReading(async (manager) => {
    await lockTables(manager);
    const [{ now } = { now: 0 }] = await manager.query<{ now: number }[]>(
      'select (extract(epoch from now()) * 1000)::float8 as now',
    );
    const moment = at ?? now;
    if (moment >= now) return new CodesSnapshot(await readCodes(manager), moment);
    const begin = await beginOfRecord(manager);
    if (begin === undefined || moment < begin)
      throw new AdministrationError(
        `--at is ${iso(moment)}: the record of changes ${begin === undefined ? 'is empty' : `begins at ${iso(begin)}`}, and what was answered before is not known.`,
      );
    return new CodesSnapshot(await readPast(manager, moment), moment);
  });

const iso = (moment: number): string => new Date(moment).toISOString();
