import { CONSTRAINTS, FOREIGN_KEYS } from './object-kinds/constraints.js';
import { FUNCTIONS } from './object-kinds/functions.js';
import { REQUIRED_COLUMNS } from './object-kinds/required-columns.js';
import { REVISION_ROWS } from './object-kinds/revision-rows.js';
import { SERVICE_EXECUTES, SERVICE_READS } from './object-kinds/service-privileges.js';
import { TRIGGERS } from './object-kinds/triggers.js';

/**
 * Something of a database that has to be as the migrations made it: a function, a constraint, a required column, a
 * privilege. Those of the database are compared by name with those of objects.json, which a test reads from a migrated
 * database.
 */
export interface DatabaseObject {
  /** As people read it: `trigger append of code_list_value`. */
  readonly name: string;
  /** It is compared as a text. */
  readonly definition: string;
  /** Statements by which the owner of the tables makes the object so, whatever is in its place. */
  readonly remedy: readonly string[];
  /** Whether it is a trigger that is switched off. */
  readonly isOff: boolean;
}

/**
 * A query for each kind of object, which gives rows of `DatabaseObject`, sorted by name. The order of the kinds
 * matters: remedies are run in it, so what a kind needs comes before it (triggers need functions, foreign keys need
 * keys).
 *
 * The queries need the session settings of `SETTINGS`, on which PostgreSQL's print depends. A definition has to be a
 * fixed point: PostgreSQL prints the same after it has read its own print. Otherwise each restored database would have
 * a fault.
 */
export const OBJECT_KINDS: readonly string[] = [
  FUNCTIONS,
  REQUIRED_COLUMNS,
  CONSTRAINTS,
  FOREIGN_KEYS,
  TRIGGERS,
  REVISION_ROWS,
  SERVICE_READS,
  SERVICE_EXECUTES,
];
