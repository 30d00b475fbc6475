// What sessions of ours call themselves (`application_name`). The change history keeps it, and `drift` shows it beside the
// login. Nothing is decided by it: any session may take any name.

/** The key commands. */
export const KEYS_APPLICATION = 'order-lookup-keys';

/** The demo, which loads samples; the id of its process stands behind it. */
export const DEMO_APPLICATION = 'order-lookup-demo';
