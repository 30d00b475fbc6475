// Jest loads this file before each test file. Long tests have the limit of jest.config.js. All others take at most 20 s
// on a quiet machine, so they end sooner if they hang. After 50 s, late-tests.ts names a test that hangs.
import { expect, jest } from '@jest/globals';

const { testPath = '' } = expect.getState();
if (testPath.endsWith('.spec.ts')) jest.setTimeout(60_000);
if (testPath.endsWith('.e2e-spec.ts')) jest.setTimeout(180_000);
