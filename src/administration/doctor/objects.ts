import type { Client } from 'pg';
import { objectFaults } from '../../database/objects.js';
import { type Finding, asOwner, fault, ok } from './finding.js';

export async function examineObjects(client: Client): Promise<Finding> {
  const faults = await objectFaults(client);
  if (faults.length === 0) return ok('all are what the migrations made');
  const text = faults.map((object) => `${object.name} ${object.fault}`).join(', ');
  return fault(text, asOwner(faults.map(({ remedy }) => remedy)));
}
