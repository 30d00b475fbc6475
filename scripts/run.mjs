import { spawn } from 'node:child_process';
import process from 'node:process';

const INTERRUPTED_STATUS = 130;

/** Ends this program with a sentence for its user. */
export function end(sentence) {
  console.error(sentence);
  process.exit(1);
}

/**
 * Runs a program to its end.
 * @param output if it is 'pipe', the output is returned; else it goes to standard error
 */
export function run([program, ...words], output = 2) {
  return new Promise((resolve) => {
    const child = spawn(program, words, { stdio: ['ignore', output, 2] });
    let isInterrupted = false;
    const interrupt = () => {
      isInterrupted = true;
      child.kill('SIGKILL');
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    // Otherwise npm would go on after Ctrl-C, and write between the lines of the next command
    for (const signal of signals) process.on(signal, interrupt);
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
    });
    child.once('error', ({ message }) =>
      end(`${program} cannot be run (${message}). npm comes with Node.js: install it.`),
    );
    child.once('close', (status) => {
      if (isInterrupted) process.exit(INTERRUPTED_STATUS);
      for (const signal of signals) process.off(signal, interrupt);
      resolve({ status, output: text });
    });
  });
}
