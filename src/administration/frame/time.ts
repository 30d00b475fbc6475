const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:)(\d{2})(\.\d+)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;

/** Milliseconds since the epoch of an RFC 3339 date-time, such as 2027-01-01T00:00:00Z; undefined if the text is not one. */
export function parseTime(text: string): number | undefined {
  const [, date, clock, seconds = '', fraction = '', sign, hours = '0', minutes = '0'] =
    DATE_TIME.exec(text) ?? [];
  if (!date || !clock) return undefined;
  const leap = seconds === '60'; // RFC 3339 section 5.7: the second before the next minute
  const local = `${date}T${clock}${leap ? '59' : seconds}`;
  const time = Date.parse(`${local}Z`);
  // Date.parse accepts 24:00, and takes 30 February as 2 March
  if (Number.isNaN(time) || !new Date(time).toISOString().startsWith(local)) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return (
    time +
    (leap ? 1_000 : Math.floor(Number(`0${fraction}`) * 1_000)) -
    (sign === '-' ? -offset : offset)
  );
}
