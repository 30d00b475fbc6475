import { afterAll, expect, it } from '@jest/globals';
import { createDatabase, queryAt } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { runLine } from '../support/local-program.js';
import { RunningService } from '../support/running-service.js';

const [database, issuer] = await Promise.all([createDatabase({ migrated: false }), Issuer.start()]);
afterAll(async () => {
  await issuer.close();
  await database.drop();
});

/** An event trigger that a company may have in all its databases. It switches on row level security for new tables. */
const ROW_SECURITY_FOR_ALL = `
  create function public.enable_row_security() returns event_trigger language plpgsql as $$
    declare made record;
    begin
      for made in select object_identity from pg_event_trigger_ddl_commands() where object_type = 'table' loop
        execute format('alter table %s enable row level security', made.object_identity);
      end loop;
    end $$;
  create event trigger row_security_for_all on ddl_command_end when tag in ('CREATE TABLE')
    execute function public.enable_row_security()`;

const OWNER = database.urlOf('order_lookup_owner');

/** The tables from which the service or the doctor reads rows. */
const TABLES = ['api_key', 'area_property', 'code_list_value', 'communication_code', 'pgmigrations', 'revision'];

it('the log names the table with row level security, and the statement of the doctor ends the fault', async () => {
  await database.query(
    `grant usage, create on schema public to order_lookup_owner;
     alter default privileges for role order_lookup_owner in schema public
       grant select on tables to order_lookup_service`,
  );
  await database.query(ROW_SECURITY_FOR_ALL);
  const up = await runLine('migrate up', { DATABASE_URL: OWNER });
  expect(up).toMatchObject({ status: 0, stderr: '' });

  const environment = { DATABASE_URL: database.urlOf('order_lookup_service'), ...issuer.environment };
  const service = await RunningService.start(environment);
  try {
    const line = await service.waitForLog(({ msg }) => /^database \(codes\): failed/.test(msg));
    expect(line['reason']).toMatch(/row-level security policy for table "revision"$/);

    const doctor = await runLine('doctor', environment);
    expect(doctor.stdout).toMatch(/^fault {4}content .*row-level security policy for table "area_property"$/m);
    const [, statement = ''] = /is on, run as the owner: (alter .*TABLE .*;)$/m.exec(doctor.stdout) ?? [];
    expect(statement).not.toBe('');
    for (const table of TABLES) await queryAt(OWNER, statement.replace('TABLE', table));
    await service.waitUntilReady();
    const mended = await runLine('doctor', environment);
    expect(mended.stdout).toMatch(/Calls are answered\.\n$/);
  } finally {
    await service.kill();
  }
});
