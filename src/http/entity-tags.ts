/** An element of a list of entity tags. A comma between quotes belongs to the tag (RFC 9110 section 8.8.3). */
const LIST_ELEMENT = /(?:[^,"]|"[^"]*")+/g;

/**
 * Whether the field If-None-Match names a representation: `*` names each, otherwise entity tags are compared weakly
 * (RFC 9110 section 13.1.2). Express's `request.fresh` is not used, because it also heeds Cache-Control of the request.
 * @param etag a strong entity tag, with its quotes
 */
export function isNamedBy(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  const elements: readonly string[] = ifNoneMatch.match(LIST_ELEMENT) ?? [];
  const tags = elements.map((element) => element.trim());
  return tags.includes(etag) || tags.includes(`W/${etag}`);
}
