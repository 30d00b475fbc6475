import { expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { withReading } from '../frame/connect.js';
import { examineCharacters } from './characters.js';

it('prints statements that work, also where all names of a row are invisible', async () => {
  const database = await createDatabase();
  const examined = () => withReading(examineCharacters, { DATABASE_URL: database.url });
  await database.query(
    `alter table communication_code
       drop constraint communication_code_has_no_invisible_characters,
       drop constraint communication_code_type_has_no_invisible_characters;
     alter table api_key drop constraint api_key_client_has_no_invisible_characters;
     insert into communication_code values
       ('T' || chr(8203), 'C' || chr(8203), 'both'), ('T', chr(8203), 'nothing left');
     insert into api_key (client, key_hash) values (chr(8203), sha256('1'));
     alter table communication_code
       add constraint communication_code_has_no_invisible_characters check (is_visible(code)) not valid,
       add constraint communication_code_type_has_no_invisible_characters check (is_visible(code_type)) not valid;
     alter table api_key add constraint api_key_client_has_no_invisible_characters
       check (is_visible(client) or revoked_at is not null) not valid`,
  );
  const finding = await examined();
  if (finding.state !== 'warning') throw new Error(`it is ${finding.state}`);
  expect(finding.text.match(/"[^"]*\\u200b"/g)).toHaveLength(4);
  const [advice = '', ...statements] = `${finding.remedy}`.split('\n');
  expect(advice).toContain('delete');
  for (const statement of statements) await database.query(statement);
  expect(await examined()).toMatchObject({ state: 'ok' });
  expect(await database.query('select code_type, code from communication_code')).toEqual([
    { code_type: 'T', code: 'C' },
  ]);
  expect(await database.query(`select client = 'unnamed ' || id as "isNamed" from api_key`)).toEqual([
    { isNamed: true },
  ]);
  await database.drop();
});
