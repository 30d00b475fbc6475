import { discover } from '../../auth/issuers/discovery.js';
import { TIMEOUT_MS, fetchJson } from '../../auth/issuers/fetch-json.js';
import { type KeySet, keySetOf } from '../../auth/issuers/key-set.js';
import type { Configuration } from '../../configuration/configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Finding, clockFinding, fault, ok } from './finding.js';

export interface IssuerExamination {
  readonly findings: readonly Finding[];
  /** The usable keys, if there are any. */
  readonly keys?: KeySet;
}

/** Checks the issuer: whether its metadata and its keys can be fetched, and whether its clock agrees with ours. */
export async function examineIssuer(
  name: string,
  configuration: Configuration,
): Promise<IssuerExamination> {
  const findings: Finding[] = [];
  let address = configuration.OAUTH_JWKS_URI;
  try {
    if (address) findings.push(ok('discovery', 'not needed: OAUTH_JWKS_URI is set'));
    else {
      address = (await discover(name, configuration)).jwks_uri;
      findings.push(ok('discovery', `${name} names its keys at ${address}`));
    }
  } catch (error) {
    const remedy =
      'Check OAUTH_ISSUER, the way to it (DNS, proxy, firewall, certificate), or set OAUTH_JWKS_URI.';
    return { findings: [fault('discovery', describe(error), remedy)] };
  }
  try {
    const keys = await keySetOf(await fetchJson(address));
    const names = [...keys.kids].join(', ');
    findings.push(
      ok('signing keys', `${keys.size} that can verify a token${names && `: ${names}`}`),
      ...(await examineClock(address)),
    );
    return { findings, keys };
  } catch (error) {
    const remedy = `Open ${address} from this machine: it has to give a JWK set with public signature keys (RFC 7517).`;
    return { findings: [...findings, fault('signing keys', describe(error), remedy)] };
  }
}

/** From the Date header (RFC 9110 section 6.6.1), which is exact to the second. Without the header there is no finding. */
async function examineClock(address: string): Promise<Finding[]> {
  const response = await fetch(address, {
    method: 'HEAD',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined);
  const date = Date.parse(response?.headers.get('date') ?? '');
  return Number.isNaN(date) ? [] : [clockFinding('the issuer', date + 500 - Date.now())];
}
