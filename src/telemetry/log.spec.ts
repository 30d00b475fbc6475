import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, jest } from '@jest/globals';
import { Configuration } from '../configuration/configuration.js';
import { Log, nestLogger } from './log.js';
import { Metrics } from './metrics.js';

it('writes lines of its level and above together, with whatever was thrown', async () => {
  const log = new Log(Object.assign(new Configuration(), { LOG_LEVEL: 'Info' }), new Metrics());
  const write = jest.spyOn(log['output'], 'write').mockReturnValue(true);
  const circular: Record<string, unknown> = { a: 1 };
  circular['b'] = circular;
  log.write('debug', 'not written');
  log.write('info', '"x"\n', { a: undefined, b: [2] });
  log.write('error', 'error', { err: new TypeError('no', { cause: 'why' }) });
  nestLogger(log).fatal?.('thrown', circular);
  await turn();
  expect(write).toHaveBeenCalledTimes(1);
  const lines = (write.mock.calls.join().match(/.+\n/g) ?? []).map((line) => JSON.parse(line));
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/);
  const err = expect.stringMatching(/^TypeError: no\n +at .*cause.*'why'/s);
  expect(lines).toEqual([
    { level: 'info', time, msg: '"x"\n', b: [2] },
    { level: 'error', time, msg: 'error', err },
    { level: 'fatal', time, msg: 'thrown', context: expect.stringContaining('[Circular') },
  ]);
});
