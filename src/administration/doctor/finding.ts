/** What a check found. All is right unless it names what to do: against a fault, which keeps the service from working, or a warning. */
export interface Finding {
  readonly said: string;
  readonly fault?: string;
  readonly warning?: string;
}
