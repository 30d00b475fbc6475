import { expect, it } from '@jest/globals';
import { walkThrough } from '../support/page-walk.js';

walkThrough('docs/administrators.md', (walk) => {
  it('leaves the lists as they were after everything is undone', async () => {
    const { database } = walk().world;
    const lists = () =>
      database.query(
        `select code_list, array_agg(value order by position) from code_list_value where value not in ('Refrigerated', 'Fridge') group by 1 order by 1`,
      );
    const [changed] = [await lists(), await walk().run('npm run migrate -- down 2 --yes')];
    expect(changed).toEqual(
      expect.arrayContaining([
        { code_list: 'phoneNumberType', array_agg: ['Home', 'Fax', 'Mobile', 'Office'] },
      ]),
    );
    expect(await lists()).toEqual(
      expect.arrayContaining([
        { code_list: 'orderType', array_agg: ['Standard', 'Return'] },
        { code_list: 'phoneNumberType', array_agg: ['Home', 'Mobile', 'Office'] },
        {
          code_list: 'transportationMode',
          array_agg: ['Truck', 'Rail', 'Ocean', 'LTL', 'Parcel', 'Best'],
        },
      ]),
    );
  });

  it('finds who deleted a value, in the record of changes', async () => {
    const outcome = await walk().run('npm run migrate -- up');
    expect(outcome).toMatchObject({ status: 0 });
    const rows = await walk().world.database.query(
      `select migration, new_row from change_history where old_row ->> 'value' = 'Best' and new_row is null`,
    );
    expect(rows[0]).toEqual({ migration: '0005_follow_recipe', new_row: null });
  });
});
