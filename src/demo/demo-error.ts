/** What keeps the demo from starting, in a sentence for the person before the screen. */
export class DemoError extends Error {}
