import { expect, it } from '@jest/globals';
import { type PageWalk, walkThrough } from '../support/page-walk.js';

const lists = async (walk: PageWalk): Promise<Record<string, string[]>> => {
  const rows = await walk.world.database.query<{ name: string; values: string[] }>(
    `select code_list as name, array_agg(value::text order by position) as values from code_list_value group by code_list`,
  );
  return Object.fromEntries(rows.map(({ name, values }) => [name, values]));
};

walkThrough('docs/administrators.md', (walk) => {
  it('leaves the lists as they were, but for the values that it added', async () => {
    const after = await lists(walk());
    expect(after['orderType']).toEqual(['Standard', 'Return', 'Transfer', 'Repair']);
    await walk().run('npm run migrate -- down 2');
    expect((await lists(walk()))['orderType']).toEqual(['Standard', 'Return']);
  });
});
