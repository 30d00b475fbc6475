import { PATHS } from '../documentation/openapi/operations.js';

interface Demo {
  readonly url: string;
  readonly managementUrl: string;
  readonly issuerUrl: string;
  readonly key: string;
  readonly token: string;
  readonly databaseUrl: string;
  /** When a sample code begins to be served. */
  readonly beginsAt: Date;
}

/** What `npm start` prints: where everything is, and calls to paste. */
export function welcome(demo: Demo): string {
  const { url, managementUrl, issuerUrl, key, token, databaseUrl, beginsAt } = demo;
  const curl = (path: string): string =>
    `curl -s '${url}${path}' \\\n  -H 'Api-Key: ${key}' \\\n  -H 'Authorization: Bearer ${token}'\n`;
  return `
Order Lookup Services: the demo runs.

  API            ${url}
  Documentation  ${url}/docs
  Health         ${managementUrl}/health/ready
  Metrics        ${managementUrl}/metrics
  Issuer         ${issuerUrl} (development only; sign in with one click)
  Database       ${databaseUrl}

API key (of the client "demo"):
${key}

Access token (valid for 8 hours):
${token}

Paste one of these into another terminal:

${curl(PATHS.orderUpdate)}
${curl(PATHS.orderCaptureV2)}
${curl(`${PATHS.communicationCodes}?codeType=SAMPLE-APPOINTMENT`)}
The sample code BEGINS-SOON begins at ${beginsAt.toISOString()}, in a few minutes: the last call will show it from then on.

Add a code, and see it in the answers at once:

psql '${databaseUrl}' \\
  -c "insert into code_list_value (code_list, value) values ('orderType', 'Transfer')"

Ctrl-C stops everything. The data stays in .data/; delete that folder to start afresh.
`;
}
