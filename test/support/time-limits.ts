// Jest loads this file before each test file. Unit and end-to-end tests take at most 20 s on a quiet machine, so they
// get shorter limits than in jest.config.js. Keep them above those of waiting.ts and late-tests.ts, which name a hang.
import { expect, jest } from '@jest/globals';

const { testPath = '' } = expect.getState();
if (testPath.endsWith('.spec.ts')) jest.setTimeout(60_000);
if (testPath.endsWith('.e2e-spec.ts')) jest.setTimeout(180_000);
