// The shapes that identity providers send: their configuration, a token, and what comes of it. Key sets over real HTTP.
import { afterAll, expect, it, jest } from '@jest/globals';
import { AccessTokensService } from '../../src/auth/access-tokens/access-tokens.service.js';
import { IssuersService } from '../../src/auth/issuers/issuers.service.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { AUDIENCE, Issuer, signingKey } from '../support/issuer.js';
import { silentLogger } from '../support/silent-logger.js';

type Members = Record<string, unknown>;
/** Provider | accepted, or the reason of the refusal | OAUTH_ variables | header | claims. The rest is that of a valid token without client_id; null leaves a member out, and a number of groups stands for as many ids. */
const PROVIDERS = `
Entra ID v1, person | accepted | AUDIENCE=api://lookups, https://orders.example | {"typ":"JWT"} | {"iss":"https://sts.windows.net/tenant/","aud":"api://lookups","appid":"portal","scp":"lookups.read","ver":"1.0"}
Entra ID v2, person | accepted | AUDIENCE=api://lookups, https://orders.example; REQUIRED_SCOPE=lookups.read | {"typ":"JWT"} | {"iss":"https://login.microsoftonline.com/tenant/v2.0","azp":"portal","scp":"openid lookups.read","ver":"2.0"}
Entra ID, program with the role | accepted | REQUIRED_SCOPE=Lookups.Read | {"typ":"JWT"} | {"iss":"https://login.microsoftonline.com/tenant/v2.0","azp":"batch","roles":["Other","Lookups.Read"]}
Entra ID, program without | scope | REQUIRED_SCOPE=Lookups.Read | {"typ":"JWT"} | {"iss":"https://login.microsoftonline.com/tenant/v2.0","azp":"batch"}
Entra ID v1, program of another team | client | CLIENTS=batch,portal | {"typ":"JWT"} | {"iss":"https://sts.windows.net/tenant/","appid":"another"}
Entra ID, 200 groups | accepted |  | {"typ":"JWT"} | {"iss":"https://login.microsoftonline.com/tenant/v2.0","azp":"portal","groups":200}
Entra ID, more groups | too-long |  | {"typ":"JWT"} | {"iss":"https://login.microsoftonline.com/tenant/v2.0","azp":"portal","groups":400}
Okta | accepted | REQUIRED_SCOPE=lookups.read; CLIENTS=batch,portal |  | {"iss":"https://example.okta.com/oauth2/default","cid":"batch","uid":"x","scp":["lookups.read"]}
Okta, another client | client | CLIENTS=batch,portal |  | {"iss":"https://example.okta.com/oauth2/default","cid":"another"}
Auth0, scope | accepted | REQUIRED_SCOPE=lookups.read | {"typ":"JWT"} | {"iss":"https://example.eu.auth0.com/","aud":["https://orders.example","https://example.eu.auth0.com/userinfo"],"azp":"portal","scope":"openid lookups.read"}
Auth0, permissions | accepted | REQUIRED_SCOPE=lookups.read | {"typ":"at+jwt"} | {"iss":"https://example.eu.auth0.com/","azp":"batch","gty":"client-credentials","scope":"","permissions":["lookups.read"]}
Amazon Cognito | accepted | CLIENTS=batch,portal; AUDIENCE=; REQUIRED_SCOPE=orders/lookups.read |  | {"iss":"https://cognito-idp.eu-west-1.amazonaws.com/pool","aud":null,"client_id":"batch","token_use":"access","scope":"orders/lookups.read"}
Amazon Cognito, another client | client | CLIENTS=batch,portal; AUDIENCE= |  | {"iss":"https://cognito-idp.eu-west-1.amazonaws.com/pool","aud":null,"client_id":"another","token_use":"access"}
Amazon Cognito, ID token | client | CLIENTS=batch,portal; AUDIENCE= |  | {"iss":"https://cognito-idp.eu-west-1.amazonaws.com/pool","aud":"batch","token_use":"id"}
AD FS | accepted |  | {"typ":"JWT"} | {"iss":"http://adfs.example.com/adfs/services/trust","appid":"portal","apptype":"Public","scp":"openid"}
Azure AD B2C | accepted | REQUIRED_SCOPE=lookups.read | {"typ":"JWT"} | {"iss":"https://example.b2clogin.com/tenant/v2.0/","azp":"portal","scp":"lookups.read","tfp":"B2C_1_in","nonce":"n"}
PingFederate | accepted | REQUIRED_SCOPE=lookups.read | {"pi.atm":"1"} | {"iss":"https://ping.example.com","client_id":"batch","scope":["lookups.read"]}
PingOne | accepted | REQUIRED_SCOPE=lookups.read | {"typ":"JWT"} | {"iss":"https://auth.pingone.eu/env/as","aud":["https://orders.example"],"client_id":"batch","scope":"lookups.read"}
Keycloak | accepted | REQUIRED_SCOPE=lookups-reader | {"typ":"JWT"} | {"aud":["account","https://orders.example"],"typ":"Bearer","azp":"portal","nonce":"n","scope":"openid","roles":["lookups-reader"]}
Keycloak, ID token | another-kind |  | {"typ":"JWT"} | {"typ":"ID","azp":"portal","at_hash":"x"}
ForgeRock | accepted | CLIENTS=batch,portal; AUDIENCE=; REQUIRED_SCOPE=lookups.read | {"typ":"JWT","zip":"NONE"} | {"iss":"https://am.example.com/am/oauth2","aud":"batch","client_id":"batch","tokenName":"access_token","scope":["lookups.read"],"realm":"/"}
Google, service account | accepted | CLIENTS=batch,portal | {"typ":"JWT"} | {"iss":"https://accounts.google.com","email_verified":true,"azp":"batch"}
Google, service account of a stranger | client | CLIENTS=batch,portal | {"typ":"JWT"} | {"iss":"https://accounts.google.com","email_verified":true,"azp":"1097"}
SAP XSUAA | accepted | CLIENTS=batch,portal; REQUIRED_SCOPE=lookups!t1.read | {"typ":"JWT","jku":"https://example.com/token_keys"} | {"iss":"http://example.localhost:8080/uaa/oauth/token","aud":["sb","https://orders.example"],"cid":"batch","azp":"batch","scope":["uaa.resource","lookups!t1.read"]}
a gateway (IBM, Apigee): no kid, a name | accepted |  | {"kid":null} | {"iss":"idg"}
Curity | accepted | REQUIRED_SCOPE=lookups.read | {"x5t":"x"} | {"iss":"https://curity.example.com/~","azp":"portal","scope":"lookups.read","purpose":"access_token"}
WSO2 | accepted | CLIENTS=batch,portal | {"typ":"at+jwt","x5t":"x"} | {"iss":"https://wso2.example.com:9443/oauth2/token","azp":"batch","client_id":"batch","aut":"APPLICATION"}
Duende IdentityServer | accepted | REQUIRED_SCOPE=lookups.read; TOKEN_TYPE=at+jwt | {"typ":"at+jwt"} | {"iss":"https://login.example.com","client_id":"batch","scope":["lookups.read"]}
`;

const issuer = await Issuer.start();
const { kid: _, alg: __, ...encryption } = (await signingKey('RS256', 'encryption')).jwk;
const second = await signingKey('RS256', 'rsa-2');
issuer.published.unshift({ ...encryption, use: 'enc' }, second.jwk);
afterAll(() => issuer.close());
jest.spyOn(AbortSignal, 'timeout').mockReturnValue(new AbortController().signal); // a slow machine needs longer

function membersOf(json = ''): Members {
  const members = Object.entries(JSON.parse(json.trim() || '{}') as Members);
  const ids = (count: unknown) =>
    Array.from({ length: Number(count) }, () => '-1e8f-57d0-9a55-0c9f6a0c7d11-id');
  return Object.fromEntries(
    members.map(([name, value]) => [name, name === 'groups' ? ids(value) : (value ?? undefined)]),
  );
}

it.each(
  PROVIDERS.trim()
    .split('\n')
    .map((line) => line.split(' |')),
)('%s:%s', async (...[, reason, variables = '', header, given]: string[]) => {
  const claims = membersOf(given);
  const set = variables.split('; ').map((one) => `OAUTH_${one.trim()}`.split('='));
  const configuration = readConfiguration({
    DATABASE_URL: 'postgres://db/x',
    ...(claims['iss'] === undefined ? {} : { OAUTH_JWKS_URI: `${issuer.url}/jwks` }),
    OAUTH_ISSUER: (claims['iss'] as string | undefined) ?? issuer.url,
    OAUTH_AUDIENCE: AUDIENCE,
    ...(Object.fromEntries(set) as Record<string, string>),
  });
  const metrics = new Metrics();
  const issuers = new IssuersService(configuration, silentLogger, metrics);
  await Promise.all(issuers.all.map((each) => each.refresh()));
  const tokens = new AccessTokensService(configuration, issuers, metrics);
  const token = await issuer.token({
    header: { typ: undefined, ...membersOf(header) },
    claims: { client_id: undefined, ...claims },
  });
  const verdict = await tokens.verify(`Bearer ${token}`);
  expect(verdict.isAccepted ? 'accepted' : verdict.fault.reason).toBe(reason?.trim());
});
