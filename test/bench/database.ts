import { Client } from 'pg';

/** Fills a database with `count` communication codes whose three texts have 100 bytes together. */
export async function fill(url: string, count: number): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(
    `insert into communication_code (code_type, code, description)
     select 'TYPE-' || lpad((n % greatest(1, $1::int / 10))::text, 7, '0'), 'CODE-' || lpad(n::text, 7, '0'), rpad('A communication code of the benchmark, number ' || n, 76, '.')
     from generate_series(1, $1::int) as n`,
    [count],
  );
  await client.query('analyze communication_code');
  await client.end();
}

/** Adds codes that begin at moments of their own, from tomorrow on. */
export async function scheduleMoments(url: string, count: number): Promise<void> {
  const client = new Client(url);
  await client.connect();
  await client.query(
    `insert into communication_code (code_type, code, description, valid_from)
     select 'LATER', 'CODE-' || n, 'A code that begins later', now() + interval '1 day' + n * interval '1 minute' from generate_series(1, $1::int) as n`,
    [count],
  );
  await client.end();
}

/** Lets a tenth of the codes that `fill` made begin at one moment. Gives that moment, in milliseconds since the epoch, by the database's clock. */
export async function beginTenth(url: string, inSeconds: number): Promise<number> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ moment: string }>(
    `with moment as materialized (select date_trunc('second', clock_timestamp()) + $1 * interval '1 second' as at),
       begun as (update communication_code set valid_from = moment.at from moment where code like '%7')
     select extract(epoch from at) * 1000 as moment from moment`,
    [inSeconds],
  );
  await client.end();
  return Number(rows[0]?.moment);
}

/** Changes one code every second until it is stopped. */
export function changeEverySecond(url: string): () => void {
  const client = new Client(url);
  let last: Promise<unknown> = client.connect();
  const timer = setInterval(() => {
    last = last.then(() =>
      client.query(
        `update communication_code set description = 'Changed at ' || clock_timestamp() where code = 'CODE-0000001'`,
      ),
    );
  }, 1_000);
  return () => {
    clearInterval(timer);
    void last.then(() => client.end());
  };
}
