// The floor: Node's own server, one ready Buffer, no routing, no credentials.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const body = readFileSync('test/fixtures/order-update.supported-values.json');

createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
}).listen(Number(process.env['PORT']), '127.0.0.1');
