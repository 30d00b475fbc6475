/** A fault of the operator's surroundings or input. Its message says what was found and how to mend it. */
export class AdministrationError extends Error {}
