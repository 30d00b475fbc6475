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
export const warning = (subject: string, said: string, remedy: string): Finding => ({
  state: 'warning',
  subject,
  said,
  remedy,
});
export const fault = (subject: string, said: string, remedy: string): Finding => ({
  ...warning(subject, said, remedy),
  state: 'fault',
});

/** Makes a check. One that fails is a fault, and the others go on. */
export const attempt = (
  subject: string,
  check: () => Promise<Finding> | Finding,
  remedy = 'Correct the faults above first.',
): Promise<Finding> =>
  Promise.resolve()
    .then(check)
    .catch((error: unknown) => fault(subject, describe(error), remedy));
