/** `variables` are the lines that set API, KEY, TOKEN and the others in a shell. */
type Part = 'folders' | 'url' | 'managementUrl' | 'issuerUrl' | 'databaseUrl' | 'key' | 'variables';

export const VARIABLES = 'demo.env';

/** What `npm start` prints: where everything is, calls to paste, and a first change of the codes. */
export function welcome(demo: Record<Part, string>): string {
  const curl = (path: string): string =>
    `curl -s -H "Api-Key: $KEY" -H "Authorization: Bearer $TOKEN" \\\n  "$API${path}"`;
  return `
Order Lookup Services: the demo runs.

  API            ${demo.url}
  Documentation  ${demo.url}/docs
  State          ${demo.managementUrl} (health and metrics: /health/ready, /metrics)
  Issuer         ${demo.issuerUrl} (development only; everyone is signed in)
  Database       ${demo.databaseUrl}
  API key        ${demo.key}

1. Open a second terminal in this folder and set the addresses, an API key and an access token
   there. The token is valid for 8 hours. The same lines are in .data/${VARIABLES}.

${demo.variables}
2. Call the three operations.

${curl('/orders-update-api/supported-values')}
${curl('/orders-api-v2/v2/supported-values')}
${curl('/order-scheduling/communication-codes?codeType=SAMPLE-APPOINTMENT')}

3. Add a code: export the codes, add a line, and make a migration of the difference. Look at the
   plan, and apply it.

npm run --silent codes -- export communication-codes > codes.csv
echo 'MY-TYPE,MY-CODE,My first code,,' >> codes.csv
npm run migrate -- new add_my_code --from codes.csv
npm run migrate -- plan
npm run migrate -- up

4. See it in the answer.

${curl('/order-scheduling/communication-codes?codeType=MY-TYPE')}

README.md and docs/administrators.md explain more. Ctrl-C stops everything. The data stays; to start
afresh, delete ${demo.folders} after that.
`;
}
