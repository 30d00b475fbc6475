// Connections that all send the same bytes at once: in a process of its own, so that its work is not the answers' delay.
// Arguments: port, connections, and whether the answers are read. The bytes come on standard input. Ends with it, and prints how many were closed.
import { connect } from 'node:net';
import process from 'node:process';

const [port, connections, reads] = process.argv.slice(2);
const chunks = [];
for await (const chunk of process.stdin) {
  chunks.push(chunk);
  if (chunk.at(-1) === 0) break;
}
const packet = Buffer.concat(chunks).subarray(0, -1);
let closed = 0;
const sockets = await Promise.all(
  Array.from(
    { length: Number(connections) },
    () =>
      new Promise((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => resolve(socket));
        socket
          .on('error', () => undefined)
          .on('close', () => process.stdout.write(`${++closed}\n`));
        if (reads === 'read') socket.resume();
        else socket.pause();
      }),
  ),
);
for (const socket of sockets) if (packet.length > 0) socket.write(packet);
process.stdout.write('sent\n');
