import type { Program } from '../frame/command.js';
import { exportCommand } from './export.command.js';
import { show } from './show.command.js';

export const codes: Program = {
  name: 'codes',
  commands: { show, export: exportCommand },
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
};
