// Jest loads this file before each test file. Unit and end-to-end tests take at most 20 s on a quiet machine, so here
// they get a shorter limit than that of jest.config.js. Before the limit, late-tests.ts names a test that hangs.
import { expect, jest } from '@jest/globals';

const { testPath = '' } = expect.getState();
if (testPath.endsWith('.spec.ts')) jest.setTimeout(60_000);
if (testPath.endsWith('.e2e-spec.ts')) jest.setTimeout(180_000);
