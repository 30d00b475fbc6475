import type { TestRun } from './test-run.ts';

export default async function globalTeardown(): Promise<void> {
  await (globalThis as { testRun?: TestRun }).testRun?.end();
}
