import { expect, it } from '@jest/globals';
import { walkThrough } from '../support/page-walk.js';

walkThrough('docs/recipes.md', (walk) => {
  it('leaves the moments and the order that it describes', async () => {
    const rows = await walk().world.database.query<{ value: string; until: string | null }>(
      `select value, valid_until::text as until from code_list_value where code_list in ('orderType', 'equipmentType')
        and (code_list = 'orderType' or valid_from is not null or valid_until is not null) order by code_list desc, position`,
    );
    expect(rows.map(({ value }) => value)).toEqual([
      'Standard',
      'Exchange',
      'Return',
      'FlatBed',
      'Sprinter',
    ]);
  });
});
