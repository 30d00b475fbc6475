/** Unit tests stand beside the code in src/, end-to-end tests in test/. */
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
  restoreMocks: true, // before each test: one that fails leaves no spy to the next
  setupFilesAfterEnv: ['<rootDir>/test/support/time-limits.ts', '<rootDir>/test/support/late-tests.ts'],
  // The limit of long tests. test/support/time-limits.ts has those of the others.
  // Tests wait for events, and `until` says after 30 s what it waits for.
  testTimeout: 600_000,
  // All share one PostgreSQL of 300 sessions (test/support/postgres-server.ts). A file takes 4, 3 for each of its replicas,
  // and those of its commands.
  maxWorkers: 4,
};
