const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Milliseconds since the epoch of an RFC 3339 date-time, such as 2027-01-01T00:00:00Z; undefined if the text is not one. */
export function parseTime(text: string): number | undefined {
  const [, local = '', fraction = ''] = DATE_TIME.exec(text) ?? [];
  const zone = text.slice(local.length + fraction.length).toUpperCase();
  const civil = Date.parse(`${local.toUpperCase()}Z`);
  // Date.parse accepts 24:00, and takes 30 February as 2 March
  if (Number.isNaN(civil) || !new Date(civil).toISOString().startsWith(local.toUpperCase()))
    return undefined;
  return Date.parse(local.toUpperCase() + zone) + Math.floor(Number(`0${fraction}`) * 1_000);
}
