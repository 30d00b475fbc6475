/** A reason why the demo cannot start, as a sentence for its user. */
export class DemoError extends Error {}
