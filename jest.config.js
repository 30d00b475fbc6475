/** Unit tests (.spec.ts) are beside the code or in test/, and end-to-end tests (.e2e-spec.ts) are in test/. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts', '**/*.e2e-spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  restoreMocks: true, // a test that fails leaves no spy to the next test
  setupFilesAfterEnv: ['<rootDir>/test/support/time-limits.ts', '<rootDir>/test/support/late-tests.ts'],
  // The limit of a long test. test/support/time-limits.ts sets shorter limits for the other tests.
  testTimeout: 600_000,
  // All workers share one PostgreSQL with 300 sessions (test/support/postgres-server.ts). A test file takes 4 sessions,
  // 3 more for each of its replicas, and those of its commands. If you raise maxWorkers, sessions may run out.
  maxWorkers: 4,
};
