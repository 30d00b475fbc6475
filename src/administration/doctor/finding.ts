import { CLOCK_SKEW_SECONDS } from '../../auth/access-tokens/access-token.js';
import { describe } from '../../telemetry/repeated-failure.js';

/** The result of a check: in order, a warning, or a fault that keeps the service from working. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'fault';
  /** What was checked, in one or two words. */
  readonly subject: string;
  readonly said: string;
  /** What to do about it. */
  readonly remedy?: string;
}

export const ok = (subject: string, said: string): Finding => ({ state: 'ok', subject, said });
const withRemedy =
  (state: Finding['state']) =>
  (subject: string, said: string, remedy: string): Finding => ({ state, subject, said, remedy });
export const warning = withRemedy('warning');
export const fault = withRemedy('fault');

export const unexamined = (subject: string, why: unknown): Finding =>
  warning(subject, `not examined: ${describe(why)}`, 'Correct the faults above first.');

/** Makes a check. One that fails is reported, and the others go on. */
export async function attempt(
  subject: string,
  check: () => Promise<Finding | undefined> | Finding | undefined,
): Promise<Finding[]> {
  try {
    const finding = await check();
    return finding ? [finding] : [];
  } catch (error) {
    return [unexamined(subject, error)];
  }
}

/** The difference between another clock and ours. Tokens tolerate CLOCK_SKEW_SECONDS. */
export function clockFinding(whose: string, milliseconds: number): Finding {
  const seconds = Math.abs(milliseconds) / 1000;
  const said = `the clock of ${whose} is ${seconds < 2 ? 'the same as ours' : `${Math.round(seconds)} s ${milliseconds > 0 ? 'ahead of' : 'behind'} ours`}`;
  if (seconds < 5) return ok('clock', said);
  const remedy = 'Let all machines take their time from NTP.';
  return seconds < CLOCK_SKEW_SECONDS
    ? warning('clock', said, remedy)
    : fault('clock', said, remedy);
}
