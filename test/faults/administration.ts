import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { planSteps } from '../../src/administration/migrate/plan/plan-migrations.js';
import { stepsUp } from '../../src/administration/migrate/steps.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';
import { ProgramCopy } from '../support/program-copy.js';
import { quantiles } from './figures.js';

const ROWS = 100_000;

/** Plans beside a writer, a plan that holds its locks for three seconds, and a file of 100,000 rows. */
export async function administration(plans = 100): Promise<string> {
  const server = await startMigratedPostgres();
  const database = await createDatabase({ server: server.url });
  const copy = new ProgramCopy();
  copy.environment = { DATABASE_URL: database.url };
  try {
    return [
      await besideWriter(database, copy, plans, 'select 1'),
      await besideWriter(
        database,
        copy,
        1,
        'lock table code_list_value in access exclusive mode; select pg_sleep(3)',
      ),
      await fromFile(database, copy),
    ].join('\n');
  } finally {
    copy.remove();
    await database.drop();
    await server.remove();
  }
}

async function besideWriter(
  database: TestDatabase,
  copy: ProgramCopy,
  plans: number,
  more: string,
): Promise<string> {
  copy.reset();
  copy.add(
    '0100_add',
    `alter table code_list_value add column extra int;
     insert into code_list_value (code_list, value) values ('orderType', 'Planned'); ${more};`,
  );
  const open = async (): Promise<Client> => {
    const client = new Client(database.urlOf('order_lookup_owner'));
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const over = new AbortController();
  const waits: number[] = [];
  const writer = (async () => {
    const time = async (sql: string): Promise<void> => {
      const begun = performance.now();
      await database.query(sql);
      waits.push(performance.now() - begun);
    };
    while (!over.signal.aborted) {
      await time(`insert into code_list_value (code_list, value) values ('orderType', 'Written')`);
      await time(`delete from code_list_value where value = 'Written'`);
      await pause(5);
    }
  })();
  let [made, withdrawn, wrong] = [0, 0, 0];
  for (let at = 0; at < plans; at++) {
    try {
      const { changes } = await planSteps(open, await stepsUp(copy.migrations));
      made++;
      const names = changes.map((change) => ('name' in change ? change.name : ''));
      if (String(names) !== 'Planned,Planned') wrong++;
    } catch {
      withdrawn++;
    }
  }
  over.abort();
  await writer;
  return `${plans} plans with "${more}": ${made} made, ${withdrawn} given up for the writer's sake, ${wrong} with a change of the writer; ${waits.length} statements of the writer waited ${quantiles(waits)}`;
}

async function fromFile(database: TestDatabase, copy: ProgramCopy): Promise<string> {
  copy.reset();
  const rows = Array.from(
    { length: ROWS },
    (_, at) => `SAMPLE,C${at},Sample: the code with the number ${at},,\r\n`,
  );
  const path = join(copy.folder, 'many.csv');
  writeFileSync(path, `code_type,code,description,valid_from,valid_until\r\n${rows.join('')}`);
  const seconds: string[] = [];
  for (const words of [['new', 'add_many', '--from', path], ['plan'], ['up']]) {
    const begun = performance.now();
    const { status, stderr } = await copy.migrate(...words);
    if (status !== 0) throw new Error(stderr);
    seconds.push(`${words[0]} ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  }
  const [row] = await database.query<{ count: number }>(
    'select count(*)::int as count from communication_code',
  );
  return `a file of ${ROWS} rows: ${seconds.join(', ')}; ${row?.count} codes in the table`;
}
