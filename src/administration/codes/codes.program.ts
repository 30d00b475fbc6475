import type { Program } from '../frame/command.js';

export const codes: Program = {
  name: 'codes',
  commands: {},
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
};
