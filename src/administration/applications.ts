// What sessions call themselves (`application_name`) where the record of changes has to know them: these changes are no
// drift. The record keeps the names, so under a new name all changes made under the former one would become drift.

/** The key commands: keys come and go without migrations. */
export const KEYS_APPLICATION = 'order-lookup-keys';

/** The demo while it loads its samples. */
export const DEMO_APPLICATION = 'order-lookup-demo';
