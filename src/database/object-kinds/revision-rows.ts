/** The rows of `revision`, without which no change is noticed. */
export const REVISION_ROWS = `
  select
    format('row %s of revision', topic) as name,
    topic as definition,
    array[format('insert into public.revision (topic) values (%L);', topic)] as remedy,
    false as "isOff"
  from public.revision
  order by name`;
