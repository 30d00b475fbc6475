// Fuzzes a running service: node test/http/fuzz.mjs --port 3000 --key KEY --token TOKEN --seconds 60 [--seed N] [--base BASE_PATH]
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { faultOf, requests } from './grammar.mjs';

/** Sends what the grammar makes to a port until the time is up, or as many requests as `count` says. Gives how many requests were sent, and what was wrong. */
export async function fuzz({
  port,
  key,
  token,
  seconds = Infinity,
  count = Infinity,
  seed,
  base = '',
}) {
  const deadline = Date.now() + seconds * 1000;
  const made = fc.sample(requests(key, token, base), { numRuns: 4_000, seed });
  const wrong = [];
  let sent = 0;
  const one = (bytes) =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(bytes));
      const chunks = [];
      socket.setTimeout(30_000, () => socket.destroy());
      socket.on('data', (chunk) => chunks.push(chunk));
      socket.on('error', () => undefined);
      socket.on('close', () => {
        const fault = faultOf(Buffer.concat(chunks));
        if (fault) wrong.push({ bytes: bytes.toString('latin1').slice(0, 400), fault });
        resolve();
      });
    });
  const worker = async () => {
    while (Date.now() < deadline && sent < count && wrong.length < 5)
      await one(made[sent++ % made.length]);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return { sent, wrong };
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      port: { type: 'string' },
      base: { type: 'string', default: '' },
      key: { type: 'string' },
      token: { type: 'string' },
    },
  });
  if (!values.port || !values.key || !values.token) {
    console.error(
      'Usage: node test/http/fuzz.mjs --port PORT --key KEY --token TOKEN [--seconds 30] [--seed 1] [--base BASE_PATH]   (npm start prints key and token)',
    );
    process.exit(1);
  }
  const { sent, wrong } = await fuzz({
    port: Number(values.port),
    key: values.key,
    token: values.token,
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    base: values.base,
  });
  console.log(`${sent} requests with seed ${values.seed}, ${wrong.length} wrong answers`);
  for (const { bytes, fault } of wrong) console.log(JSON.stringify(bytes), fault);
  process.exit(wrong.length > 0 ? 1 : 0);
}
