import { CONSTRAINTS, FOREIGN_KEYS } from './object-kinds/constraints.js';
import { FUNCTIONS } from './object-kinds/functions.js';
import { REVISION_ROWS } from './object-kinds/revision-rows.js';
import { SERVICE_EXECUTES, SERVICE_READS } from './object-kinds/service-privileges.js';
import { TRIGGERS } from './object-kinds/triggers.js';

/** Something of a database that is compared. */
export interface DatabaseObject {
  /** As people read it: `trigger append of code_list_value`. */
  readonly name: string;
  /** What is compared. */
  readonly definition: string;
  /** Statements by which the owner makes the object as it is here, whatever is there. */
  readonly remedy: readonly string[];
  /** Whether it is a trigger that is switched off. */
  readonly isOff: boolean;
}

/**
 * A statement for each kind of object, in the order in which they can be made. Each gives rows of `DatabaseObject`, by
 * name, and needs the session settings of `SETTINGS`.
 *
 * A definition has to be a fixed point: PostgreSQL prints the same after it has read its own print. So a dump and its
 * restore change nothing.
 */
export const OBJECT_KINDS: readonly string[] = [
  FUNCTIONS,
  CONSTRAINTS,
  FOREIGN_KEYS,
  TRIGGERS,
  REVISION_ROWS,
  SERVICE_READS,
  SERVICE_EXECUTES,
];
