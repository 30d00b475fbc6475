/** The result of a check. If there is a fault, the doctor ends with status 2. A warning does not change the status. */
export type CheckResult =
  | { readonly state: 'ok'; readonly text: string }
  | { readonly state: 'warning' | 'fault'; readonly text: string; readonly remedy: string };

export function ok(text: string): CheckResult {
  return { state: 'ok', text };
}

export function warning(text: string, remedy: string): CheckResult {
  return { state: 'warning', text, remedy };
}

export function fault(text: string, remedy: string): CheckResult {
  return { state: 'fault', text, remedy };
}

/** Returns a remedy that consists of statements to paste into psql. */
export function forOwner(statements: readonly string[]): string {
  return ['As the owner:', ...statements].join('\n');
}
