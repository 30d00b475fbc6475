/** What an examination found. A warning does not keep callers from their answers. */
export type Finding =
  | { readonly state: 'ok'; readonly text: string }
  | {
      readonly state: 'warning' | 'fault';
      readonly text: string;
      /** What to do, if there is something better than the examination's own remedy. */
      readonly remedy?: string;
    };

export function ok(text: string): Finding {
  return { state: 'ok', text };
}

export function warning(text: string, remedy?: string): Finding {
  return { state: 'warning', text, remedy };
}

export function fault(text: string, remedy?: string): Finding {
  return { state: 'fault', text, remedy };
}
