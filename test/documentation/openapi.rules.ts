import type { RulesetDefinition } from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import rulesets from '@stoplight/spectral-rulesets';

const off = 'off' as const;

/** Spectral's rules for OpenAPI, and those after OWASP's ten risks of an API. What is off has its reason here. */
export const rules: RulesetDefinition = {
  extends: [rulesets.oas as RulesetDefinition, owasp as unknown as RulesetDefinition],
  rules: {
    // The database holds as many codes as the operator writes: a number here would be a promise that nobody keeps.
    // The one list with a limit, the issues of a problem, has it.
    'owasp:api4:2023-array-limit': off,
    // Texts of problems are for people, and may show what was sent: no pattern says more than their length does. Codes have a pattern.
    'owasp:api4:2023-string-restricted': off,
    // RateLimit is sent with what counts against the limit of a key (200, 304, 429), and only where the operator set a limit.
    // A refused credential counts against no key.
    'owasp:api4:2023-rate-limit': off,
    // CORS is off; which origins may read the answers is the choice of a deployment (CORS_ORIGINS).
    'owasp:api8:2023-define-cors-origin': off,
    // How long tokens live, and whether they can be refreshed, is the issuer's choice, and stands in its metadata.
    'owasp:api2:2023-short-lived-access-tokens': off,
    // x-internal is a word between an operator and his catalogue of APIs; the service cannot know who reaches it.
    'owasp:api9:2023-inventory-access': off,
  },
};
