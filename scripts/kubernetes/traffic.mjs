// The callers of test-kubernetes.mjs, in a pod with the service's image. They send requests through the Service until
// standard input ends. With a code and addresses of pods, this program only waits until each pod serves the code.
import { once } from 'node:events';
import http from 'node:http';
import process from 'node:process';

const [, , issuer, key, code, ...pods] = process.argv;
const CODES = '/order-scheduling/communication-codes';
const PATHS = ['/orders-update-api/supported-values', '/orders-api-v2/v2/supported-values', CODES];
const { access_token: token } = await (await fetch(`${issuer}/token`)).json();
const headers = { 'Api-Key': key, Authorization: `Bearer ${token}` };
const newConnections = new http.Agent();
// `fifo` uses the connections one after the other, so that none is idle for long
const keptConnections = new http.Agent({ keepAlive: true, maxSockets: 8, scheduling: 'fifo' });

const ask = (url, agent) =>
  new Promise((resolve, reject) => {
    const options = { agent, headers, signal: AbortSignal.timeout(2_000) };
    const request = http.get(url, options, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      response.on('error', reject).on('end', () => {
        if (response.statusCode === 200 && body.endsWith('}')) resolve(body);
        else reject(new Error(`${response.statusCode}: ${body}`));
      });
    });
    request.on('error', reject);
  });

/** The largest number of repetitions of a failed call. Gateways repeat failed calls, too. */
const MAX_REPETITIONS = 5;
/** `faults` has the first nine faults and the last one. */
const report = { asked: 0, failed: 0, repeated: 0, longestMs: 0, faults: [] };
async function call(number, attempt = 0, startedAt = performance.now()) {
  const url = `http://order-lookup${PATHS[number % PATHS.length]}`;
  try {
    const isOnKeptConnection = number % 2 === 1 && attempt === 0;
    await ask(url, isOnKeptConnection ? keptConnections : newConnections);
  } catch (error) {
    report.faults = [...report.faults.slice(0, 9), `${new Date().toISOString()} ${error.message}`];
    if (attempt === MAX_REPETITIONS) {
      report.failed++;
    } else {
      report.repeated++;
      await call(number, attempt + 1, startedAt);
    }
  }
  report.longestMs = Math.max(report.longestMs, Math.round(performance.now() - startedAt));
}

if (code) {
  setTimeout(() => process.exit(1), 60_000).unref();
  const startedAt = performance.now();
  for (const pod of pods) {
    let body = '';
    while (!body.includes(code)) body = await ask(`http://${pod}:3000${CODES}`, newConnections);
  }
  console.log(Math.round(performance.now() - startedAt));
} else {
  const calls = [];
  const timer = setInterval(() => calls.push(call(report.asked++)), 20); // 50 requests a second
  console.log('begun');
  await once(process.stdin.resume(), 'end');
  clearInterval(timer);
  await Promise.all(calls);
  console.log(JSON.stringify(report));
  process.exit();
}
