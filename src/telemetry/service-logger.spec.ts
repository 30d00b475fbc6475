import { beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';
import { ServiceLogger } from './service-logger.js';

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let logger: ServiceLogger;
let written: string[];
beforeEach(() => {
  const configuration = Object.assign(new Configuration(), { LOG_LEVEL: 'Info' }); // any case
  logger = new ServiceLogger(configuration, new Metrics());
  written = [];
  jest.spyOn(logger['output'], 'write').mockImplementation((line) => written.push(line) > 0);
});

const lines = (): unknown[] => written.map((line) => JSON.parse(line) as unknown);

it('writes level, time, fields and message of each line', () => {
  logger.log({ message: '"a"\n%s', left: undefined, list: [2], when: new Date(0) });
  expect(lines()).toEqual([{ level: 'info', time: TIME, list: [2], when: '1970-01-01T00:00:00.000Z', msg: '"a"\n%s' }]);
  expect(written[0]).toMatch(/^\{"level":"info","time":"[^"]*",.*"msg":"[^}]*\}\n$/);
});

it('writes the lines of its level and above', () => {
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

it('writes whatever was thrown as a text with its stack and its causes', () => {
  logger.error({ message: 'failed', error: new TypeError('no', { cause: 'why' }) });
  logger.error({ message: 'failed', error: 'a text' });
  const err = expect.stringMatching(/^TypeError: no\n +at .*cause.*'why'/s);
  expect(lines()).toEqual([
    { level: 'error', time: TIME, err, msg: 'failed' },
    { level: 'error', time: TIME, err: "'a text'", msg: 'failed' },
  ]);
});

it('never writes synchronously, which a reader that stalls would make last for ever', () => {
  const flushSync = jest.spyOn(logger['output'], 'flushSync');
  logger.fatal({ message: 'fatal' });
  expect(lines()).toHaveLength(1);
  expect(flushSync).not.toHaveBeenCalled();
});

it('takes what the loggers of Nest pass, whose last parameter is the context', () => {
  const circular: Record<string, unknown> = { name: 'x' };
  circular['self'] = circular;
  Logger.overrideLogger(logger);
  const nestLogger = new Logger('Area');
  nestLogger.log('a text');
  nestLogger.warn({ message: 'with fields', count: 1 });
  nestLogger.error('with a stack', 'the stack');
  nestLogger.error('without a stack');
  nestLogger.fatal(new RangeError('thrown'));
  nestLogger.log(circular);
  const err = expect.stringMatching(/^RangeError: thrown\n +at /);
  const shown = expect.stringContaining('[Circular');
  expect(lines()).toEqual([
    { level: 'info', time: TIME, context: 'Area', msg: 'a text' },
    { level: 'warn', time: TIME, context: 'Area', count: 1, msg: 'with fields' },
    { level: 'error', time: TIME, context: 'Area', details: ['the stack'], msg: 'with a stack' },
    { level: 'error', time: TIME, context: 'Area', msg: 'without a stack' },
    { level: 'fatal', time: TIME, context: 'Area', err, msg: 'thrown' },
    { level: 'info', time: TIME, context: 'Area', msg: shown },
  ]);
});

it('leaves what Nest says of each route at the start to the level debug', () => {
  Logger.overrideLogger(logger);
  new Logger('RouterExplorer').log('Mapped {/a, GET} route');
  new Logger('RouterExplorer').warn('a warning');
  expect(lines()).toEqual([{ level: 'warn', time: TIME, context: 'RouterExplorer', msg: 'a warning' }]);
});
