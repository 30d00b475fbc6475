// `npm run start:dev`: the demo (or the service, where DATABASE_URL is set), compiled and started again after each change of src/.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';

process.chdir(join(import.meta.dirname, '..'));

/** In a group of its own, so that Ctrl-C reaches each process once: a second signal would end the service at once. */
const run = (...words) => spawn(process.execPath, words, { stdio: 'inherit', detached: true });

const compiler = run(
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
  '--watch',
  '--preserveWatchOutput',
);
const program = run('--watch-path=dist', '--watch-preserve-output', 'dist/demo/main.js');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => program.kill(signal));
program.on('exit', (status) => {
  compiler.kill();
  process.exitCode = status ?? 1;
});
