/** What a check found, and what to do about it. A fault keeps the service from working. */
export interface Finding {
  readonly state: 'ok' | 'warning' | 'fault';
  readonly said: string;
  readonly remedy?: string;
}
export const ok = (said: string): Finding => ({ state: 'ok', said });
export const warning = (said: string, remedy: string): Finding => ({
  state: 'warning',
  said,
  remedy,
});
export const fault = (said: string, remedy: string): Finding => ({ state: 'fault', said, remedy });
