import { PATHS } from '../documentation/openapi/operations.js';

interface Demo {
  readonly url: string;
  readonly managementUrl: string;
  readonly issuerUrl: string;
  readonly key: string;
  /** A command that asks the issuer for one more token. */
  readonly tokenRequest: string;
  readonly databaseUrl: string;
  /** Lines that set KEY, TOKEN, CLIENT_ID, CLIENT_SECRET and DATABASE_URL in a shell. */
  readonly variables: string;
  /** When a sample code begins to be served. */
  readonly beginsAt: Date;
}

/** The file in `.data` that holds the same lines. */
export const VARIABLES = 'demo.env';

/** What `npm start` prints: where everything is, calls to paste, and a first change of the codes. No line but that of the token has more than 100 columns. */
export function welcome(demo: Demo): string {
  const { url, managementUrl, issuerUrl, key, tokenRequest, databaseUrl, variables, beginsAt } =
    demo;
  const curl = (path: string): string =>
    `curl -s -H "Api-Key: $KEY" -H "Authorization: Bearer $TOKEN" \\\n  '${url}${path}'`;
  return `
Order Lookup Services: the demo runs.

  API            ${url}
  Documentation  ${url}/docs
  Health         ${managementUrl}/health/ready
  Metrics        ${managementUrl}/metrics
  Issuer         ${issuerUrl} (development only; everyone is signed in)
  Database       ${databaseUrl}
  API key        ${key}

1. Open a second terminal in this folder and set the API key, an access token and the database
   there. The token is valid for 8 hours. The same lines are in .data/${VARIABLES}.

${variables}
2. Call the three operations.

${curl(PATHS.orderUpdate)}
${curl(PATHS.orderCaptureV2)}
${curl(`${PATHS.communicationCodes}?codeType=SAMPLE-APPOINTMENT`)}

The last answer will change by itself: the code BEGINS-SOON is planned to begin at
${beginsAt.toISOString()}, in a few minutes.

A program gets its token by the client credentials grant, as that of step 1 was got:

${tokenRequest}

3. Add a code: export the codes, add a line, and make a migration of the difference. Look at the
   plan, and apply it.

npm run --silent codes -- export communication-codes > codes.csv
echo 'MY-TYPE,MY-CODE,My first code,,' >> codes.csv
npm run migrate -- new add_my_code --from codes.csv
npm run migrate -- plan
npm run migrate -- up

4. See it in the answer.

${curl(`${PATHS.communicationCodes}?codeType=MY-TYPE`)}

README.md and docs/administrators.md explain more. Ctrl-C stops everything. The data stays in
.data/; delete that folder to start afresh.
`;
}
