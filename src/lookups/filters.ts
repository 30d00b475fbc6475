/**
 * The filters by name, with the descriptions of the interface document. openapi.yaml has both as well;
 * test/documentation/contract.e2e-spec.ts fails where they differ. A query may hold just these names.
 */
export const FILTERS = {
  codeType: 'Type of communication code record to be retrieved.',
  code: 'Communication code record to be retrieved.',
} as const;

export type Filter = keyof typeof FILTERS;
export type Filters = { readonly [filter in Filter]?: string | undefined };
