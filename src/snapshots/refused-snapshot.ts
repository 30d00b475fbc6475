/** The data that was read cannot be served. The former value stays. */
export class RefusedSnapshot extends Error {}
