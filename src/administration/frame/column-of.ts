import type { Client } from 'pg';

/** The first column of the rows. */
export async function columnOf<T = string>(client: Client, text: string, values?: unknown[]): Promise<T[]> {
  const { rows } = await client.query<[T]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}
