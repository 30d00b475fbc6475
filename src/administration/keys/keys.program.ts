import type { Program } from '../frame/command.js';
import { issue } from './issue.command.js';
import { list } from './list.command.js';
import { revoke } from './revoke.command.js';
import { rotate } from './rotate.command.js';

export const keys: Program = {
  name: 'keys',
  commands: { issue, list, rotate, revoke },
  notes: `A key is shown once, when it is issued. --sql prints an INSERT for a migration and needs no database.
The database is the one at DATABASE_URL.`,
};
