/** A filter that is left out restricts nothing. Both together mean AND. */
export interface Filters {
  readonly codeType?: string | undefined;
  readonly code?: string | undefined;
}
