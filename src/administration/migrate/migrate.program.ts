import type { Program } from '../frame/command.js';
import { check } from './commands/check.command.js';
import { down } from './commands/down.command.js';
import { drift } from './commands/drift.command.js';
import { create } from './commands/new.command.js';
import { plan } from './commands/plan.command.js';
import { renumber } from './commands/renumber.command.js';
import { status } from './commands/status.command.js';
import { up } from './commands/up.command.js';

export const migrate: Program = {
  name: 'migrate',
  commands: { up, down, status, new: create, plan, drift, check, renumber },
  notes: 'The database is the one at DATABASE_URL; new, check and renumber need none.',
};
