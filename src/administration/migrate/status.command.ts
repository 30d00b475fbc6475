import { command } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { type MigrationState, assertFiles, describeMissing, readState } from './migration-state.js';

export const status = command({
  summary: 'lists what is applied and pending; status 1 where an applied file is not here',
  run: async () => {
    await assertFiles(); // a faulty name would be listed as missing, with advice that is wrong
    const state = await withReading(readState);
    const lines = [...describeState(state), ...describeMissing(state)];
    return { text: lines.join('\n'), status: state.missing.length > 0 ? 1 : 0 };
  },
});

function describeState({ applied, pending, missing }: MigrationState): string[] {
  const lines = applied.map((name) => {
    const word = missing.includes(name) ? 'missing' : 'applied';
    return `${word}  ${name}`;
  });
  lines.push(...pending.map((name) => `pending  ${name}`));
  return lines;
}
