import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestDatabase } from '../support/database.js';
import { ProgramCopy } from '../support/program-copy.js';
import type { World } from '../support/world.js';
import { quantiles } from './figures.js';

const ROWS = 20_000;

/** Plans beside a writer, plans that would hold their locks for three seconds, and a file of many rows. */
export async function administration({ database }: World, plans = 100): Promise<string> {
  const copy = new ProgramCopy();
  copy.environment = { DATABASE_URL: database.urlOf('order_lookup_owner') };
  const locked = 'lock table code_list_value in access exclusive mode; select pg_sleep(3)';
  try {
    return [
      await besideWriter(database, copy, plans, 'select 1'),
      await besideWriter(database, copy, 1, locked),
      await fromFile(database, copy),
    ].join('\n');
  } finally {
    copy.remove();
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
    const { status, stdout } = await copy.migrate('plan', '--json');
    if (status === 1) withdrawn++;
    else {
      made++;
      const { changes } = JSON.parse(stdout) as { changes: { name?: string }[] };
      if (String(changes.map(({ name }) => name)) !== 'Planned,Planned') wrong++;
    }
  }
  over.abort();
  await writer;
  return `${plans} plans with "${more}": ${made} made, ${withdrawn} given up for the writer's sake, ${wrong} with a change of the writer; ${waits.length} statements of the writer waited ${quantiles(waits)}`;
}

async function fromFile(database: TestDatabase, copy: ProgramCopy): Promise<string> {
  copy.reset();
  await database.query('truncate communication_code');
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
