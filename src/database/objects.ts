// Whether the objects of a database are what the migrations made: functions, constraints, required columns, triggers,
// the rows of `revision`, and the privileges of the service's role. objects.json holds what they have to be; a test
// keeps it equal to the migrations.
import { readFileSync } from 'node:fs';
import type { Client } from 'pg';
import { type DatabaseObject, OBJECT_KINDS } from './object-kinds.js';
import { SURPLUS_PRIVILEGES } from './object-kinds/surplus-privileges.js';

/** An object that is not what it must be. */
export interface ObjectFault {
  readonly name: string;
  readonly fault: string;
  /** Statements by which the owner mends it, in one line. */
  readonly remedy: string;
}

type ExpectedObjects = Readonly<Record<string, Pick<DatabaseObject, 'definition' | 'remedy'>>>;
type Surplus = Pick<DatabaseObject, 'name' | 'remedy'>;

const OBJECTS_FILE = new URL('objects.json', import.meta.url);
const EXPECTED = JSON.parse(readFileSync(OBJECTS_FILE, 'utf8')) as ExpectedObjects;

/** All objects of a database, in the order in which they can be made. */
export async function readObjects(client: Client): Promise<DatabaseObject[]> {
  const objects: DatabaseObject[] = [];
  for (const query of OBJECT_KINDS) {
    const { rows } = await client.query<DatabaseObject>(query);
    objects.push(...rows);
  }
  return objects;
}

/**
 * Compares a database with this release. The role of the service may do it.
 * @param client in a transaction with our settings
 */
export async function objectFaults(client: Client): Promise<ObjectFault[]> {
  const objects = await readObjects(client);
  const present = new Map(objects.map((object) => [object.name, object]));
  const faults: ObjectFault[] = [];
  for (const [name, expected] of Object.entries(EXPECTED)) {
    const fault = faultOf(present.get(name), expected.definition);
    if (fault) faults.push({ name, fault, remedy: expected.remedy.join(' ') });
  }
  const { rows: surplus } = await client.query<Surplus>(SURPLUS_PRIVILEGES);
  for (const { name, remedy } of surplus) faults.push({ name, fault: 'is too much', remedy: remedy.join(' ') });
  return faults;
}

function faultOf(object: DatabaseObject | undefined, definition: string): string | undefined {
  if (!object) return 'is missing';
  if (object.definition === definition) return undefined;
  return object.isOff ? 'is switched off' : 'is not what the migrations made';
}
