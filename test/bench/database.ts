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
