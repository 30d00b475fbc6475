import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { compareWith, saveRun } from './compare.js';
import { ratios, spreadOf } from './spread.js';

const file = join(mkdtempSync(join(tmpdir(), 'bench-')), 'run.json');

describe('ratios of a benchmark', () => {
  it('are taken round by round, so that a slow round counts on both sides', () => {
    expect(spreadOf(ratios([30, 60, 33], [20, 40, 20]))).toEqual({
      median: 1.5,
      smallest: 1.5,
      largest: 1.65,
    });
  });

  it('have changed only where the rounds of both runs do not overlap', () => {
    saveRun(file, 'a machine', {
      grown: spreadOf([1, 1.1, 1.2]),
      same: spreadOf([1, 1.1, 1.2]),
      shrunk: spreadOf([1, 1.1, 1.2]),
      gone: spreadOf([1]),
    });
    const said = compareWith(file, {
      grown: spreadOf([1.21, 1.3]),
      same: spreadOf([1.19, 1.4]),
      shrunk: spreadOf([0.9, 0.99]),
      added: spreadOf([1]),
    });
    expect(said).toContain('| grown | 1.10 (1.00 to 1.20) | 1.30 (1.21 to 1.30) | larger |');
    expect(said).toContain(
      '| same | 1.10 (1.00 to 1.20) | 1.40 (1.19 to 1.40) | within the spread |',
    );
    expect(said).toContain('| shrunk | 1.10 (1.00 to 1.20) | 0.99 (0.90 to 0.99) | smaller |');
    expect(said).not.toMatch(/gone|added/);
  });

  it('cannot be compared with a file that holds none', () => {
    writeFileSync(file, '{}');
    expect(() => compareWith(file, {})).toThrow('holds no run: make one with --json');
  });
});
