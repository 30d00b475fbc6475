// Jest loads this file before each test file. A test of a function (*.spec.ts) needs seconds, also on a busy machine.
// If it hangs, it fails after a minute. Only the other tests may take as long as testTimeout of jest.config.js.
import { expect, jest } from '@jest/globals';

const { testPath = '' } = expect.getState();
if (testPath.endsWith('.spec.ts')) jest.setTimeout(60_000);
