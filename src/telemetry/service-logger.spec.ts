import { EventEmitter } from 'node:events';
import * as timers from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { pino } from 'pino';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';

jest.unstable_mockModule('node:timers/promises', () => ({
  ...timers,
  setTimeout: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)), // uses fake timers
}));
const { ServiceLogger } = await import('./service-logger.js');

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const configuration = Object.assign(new Configuration(), { LOG_LEVEL: 'Info' }); // capital letters are allowed
const logger = new ServiceLogger(configuration, new Metrics());
let written: string[];
beforeEach(() => {
  written = [];
  jest.spyOn(logger['output'], 'write').mockImplementation((line) => {
    written.push(line);
    return true;
  });
});

const lines = (): unknown[] => written.map((line) => JSON.parse(line) as unknown);

it('writes level, time, fields and message of each line, and does not format the message', () => {
  logger.log({ message: '"a"\n%s', left: undefined, list: [2], when: new Date(0) });
  expect(lines()).toEqual([{ level: 'info', time: TIME, list: [2], when: '1970-01-01T00:00:00.000Z', msg: '"a"\n%s' }]);
  expect(written[0]).toMatch(/^\{"level":"info","time":"[^"]*",.*"msg":"[^}]*\}\n$/);
});

it('writes a line only if its level is LOG_LEVEL or a more severe level', () => {
  logger.verbose({ message: 'verbose' });
  logger.debug({ message: 'debug' });
  logger.log({ message: 'log' });
  logger.warn({ message: 'warn' });
  logger.error({ message: 'error' });
  logger.fatal({ message: 'fatal' });
  expect(lines()).toEqual([
    { level: 'info', time: TIME, msg: 'log' },
    { level: 'warn', time: TIME, msg: 'warn' },
    { level: 'error', time: TIME, msg: 'error' },
    { level: 'fatal', time: TIME, msg: 'fatal' },
  ]);
  expect(logger.isLevelEnabled('debug')).toBe(false);
  expect(logger.isLevelEnabled('log')).toBe(true);
});

it('writes the thrown value of a LogEntry as a text with its stack and its causes', () => {
  logger.error({ message: 'failed', error: new TypeError('no', { cause: 'why' }) });
  logger.error({ message: 'failed', error: 'a text' });
  const err = expect.stringMatching(/^TypeError: no\n +at .*cause.*'why'/s);
  expect(lines()).toEqual([
    { level: 'error', time: TIME, err, msg: 'failed' },
    { level: 'error', time: TIME, err: "'a text'", msg: 'failed' },
  ]);
});

it('does not flush synchronously after a fatal line, so that a stalled reader does not block the process', () => {
  const output = logger['output'] as ReturnType<typeof pino.destination>;
  const flushSync = jest.spyOn(output, 'flushSync');
  logger.fatal({ message: 'fatal' });
  expect(lines()).toHaveLength(1);
  expect(flushSync).not.toHaveBeenCalled();
});

describe('flush waits for the reader of the log', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Begins to flush. The returned object gets `endedAtMs` when the flush has ended. */
  function flush(takeAll: (onFlushed: () => void) => void): { endedAtMs?: number } {
    const output = Object.assign(new EventEmitter(), { write: () => true, flush: takeAll, destroy: () => undefined });
    const startedAtMs = performance.now();
    const end: { endedAtMs?: number } = {};
    const wait = async (): Promise<void> => {
      await new ServiceLogger(configuration, new Metrics(), output).flush();
      end.endedAtMs = performance.now() - startedAtMs;
    };
    void wait();
    return end;
  }

  it('until the reader has taken all lines', async () => {
    const end = flush((onFlushed) => setTimeout(onFlushed, 200));
    await jest.advanceTimersByTimeAsync(10_000);
    expect(end).toEqual({ endedAtMs: 200 });
  });

  it('for half a second, if the reader stalls', async () => {
    const end = flush(() => undefined);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(end).toEqual({ endedAtMs: 500 });
  });
});

describe('with the loggers of Nest:', () => {
  const STACK = 'Error: no\n    at run (file:///app/run.js:1:2)';
  const failure = new RangeError('thrown');
  const thrown = expect.stringMatching(/^RangeError: thrown\n +at /);
  const areaLogger = new Logger('Area');
  const plainLogger = new Logger();
  const circular: Record<string, unknown> = { name: 'x' };
  circular['self'] = circular;
  beforeAll(() => Logger.overrideLogger(logger));

  it.each<{ call: string; write: () => void; line: object }>([
    { call: `log('a text')`, write: () => areaLogger.log('a text'), line: { level: 'info', msg: 'a text' } },
    {
      call: `log('a text', 'further', 7)`,
      write: () => areaLogger.log('a text', 'further', 7),
      line: { level: 'info', msg: 'a text', details: ['further', 7] },
    },
    {
      call: 'log({ message, count })',
      write: () => areaLogger.log({ message: 'with fields', count: 1 }),
      line: { level: 'info', msg: 'with fields', count: 1 },
    },
    {
      call: 'log(object)',
      write: () => areaLogger.log(circular),
      line: { level: 'info', msg: expect.stringContaining('[Circular') },
    },
    { call: `error('a text')`, write: () => areaLogger.error('a text'), line: { level: 'error', msg: 'a text' } },
    {
      call: `error('a text', stack)`,
      write: () => areaLogger.error('a text', STACK),
      line: { level: 'error', msg: 'a text', err: STACK },
    },
    {
      call: `error('a text', 'not a stack')`,
      write: () => areaLogger.error('a text', 'not a stack'),
      line: { level: 'error', msg: 'a text', err: 'not a stack' },
    },
    {
      call: `error('a text', error)`,
      write: () => areaLogger.error('a text', failure),
      line: { level: 'error', msg: 'a text', err: thrown },
    },
    {
      call: 'error(error)',
      write: () => areaLogger.error(failure),
      line: { level: 'error', msg: 'thrown', err: thrown },
    },
    {
      call: 'error(error, error.stack)',
      write: () => areaLogger.error(failure, failure.stack),
      line: { level: 'error', msg: 'thrown', err: thrown },
    },
    {
      call: `fatal('a text', stack)`,
      write: () => areaLogger.fatal('a text', STACK),
      line: { level: 'fatal', msg: 'a text', err: STACK },
    },
  ])('$call of a logger with the context Area writes a line with this context', ({ write, line }) => {
    write();
    expect(lines()).toEqual([{ time: TIME, context: 'Area', ...line }]);
  });

  it.each<{ call: string; write: () => void; line: object }>([
    {
      call: `new Logger().log('a text')`,
      write: () => plainLogger.log('a text'),
      line: { level: 'info', msg: 'a text' },
    },
    {
      call: `new Logger().error('a text', stack)`,
      write: () => plainLogger.error('a text', STACK),
      line: { level: 'error', msg: 'a text', err: STACK },
    },
    {
      call: `new Logger().fatal('a text', stack)`,
      write: () => plainLogger.fatal('a text', STACK),
      line: { level: 'fatal', msg: 'a text', err: STACK },
    },
    {
      call: `Logger.log('a text', 'Area')`,
      write: () => Logger.log('a text', 'Area'),
      line: { level: 'info', msg: 'a text', context: 'Area' },
    },
    {
      call: `Logger.error('a text', 'Area')`,
      write: () => Logger.error('a text', 'Area'),
      line: { level: 'error', msg: 'a text', context: 'Area' },
    },
    {
      call: `Logger.error('a text', stack, 'Area')`,
      write: () => Logger.error('a text', STACK, 'Area'),
      line: { level: 'error', msg: 'a text', err: STACK, context: 'Area' },
    },
  ])('$call writes a line that has a context only if the call passes one', ({ write, line }) => {
    write();
    expect(lines()).toEqual([{ time: TIME, ...line }]);
  });

  it("Nest's line about each route is left out at LOG_LEVEL=info, but a warning with its context is written", () => {
    new Logger('RouterExplorer').log('Mapped {/a, GET} route');
    new Logger('RouterExplorer').warn('a warning');
    expect(lines()).toEqual([{ level: 'warn', time: TIME, context: 'RouterExplorer', msg: 'a warning' }]);
  });
});
