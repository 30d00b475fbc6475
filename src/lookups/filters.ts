/** The filters by name, with the descriptions of the interface document, which openapi.yaml has as well. */
export const FILTERS = {
  codeType: 'Type of communication code record to be retrieved.',
  code: 'Communication code record to be retrieved.',
} as const;

export type Filter = keyof typeof FILTERS;
export type Filters = { readonly [filter in Filter]?: string | undefined };
