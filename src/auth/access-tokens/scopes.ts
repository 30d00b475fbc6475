import type { JWTPayload } from 'jose';

/**
 * What issuers name the claim that says what a token grants: `scope` (RFC 9068 section 2.2.3), `scp` (Okta, Entra ID),
 * `roles` (Entra ID for programs), `permissions` (Auth0). Each further name lets tokens pass that were refused before:
 * it has to be one that users cannot write into their tokens themselves.
 */
const SCOPE_CLAIMS = ['scope', 'scp', 'roles', 'permissions'];

/** Whether `wanted` was granted, as a scope, a role or a permission. */
export function hasScope(claims: JWTPayload, wanted: string): boolean {
  return SCOPE_CLAIMS.some((name) => grantedBy(claims[name]).includes(wanted));
}

/** The claim is a list, or a text with blanks between the scopes (RFC 8693 section 4.2). */
function grantedBy(claim: unknown): readonly unknown[] {
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim : [];
}
