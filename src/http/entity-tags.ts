/**
 * Whether the field If-None-Match names a representation: `*` alone names each, otherwise tags are compared weakly
 * (RFC 9110 section 13.1.2). Express's `request.fresh` is not used, because it also heeds Cache-Control of the request.
 * @param etag a strong entity tag without a comma, with its quotes
 */
export function isNamedBy(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  // A tag of somebody else may hold a comma (section 8.8.3). No piece of such a tag has both quotes, so none is ours
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim());
  return tags.includes(etag) || tags.includes(`W/${etag}`);
}
