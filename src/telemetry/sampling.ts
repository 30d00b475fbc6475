import type { Configuration } from '../configuration/configuration.js';
import type { Parent } from './trace-context.js';

/** A trace id ends with at least 56 random bits (W3C Trace Context Level 2, section 3.2.2.3.1); a number holds 52 of them. */
const RANDOM_DIGITS = 13;

/**
 * OTEL_TRACES_SAMPLER. The samplers of the SDK decide when a span is made already, which costs a request that is not sampled one twentieth
 * of its CPU time.
 */
export class Sampling {
  private readonly followsParent: boolean;
  private readonly share: number;

  constructor({
    OTEL_TRACES_SAMPLER: sampler,
    OTEL_TRACES_SAMPLER_ARG: ratio,
  }: Pick<Configuration, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>) {
    this.followsParent = sampler.startsWith('parentbased_');
    if (sampler.endsWith('traceidratio')) this.share = Number(ratio || 1);
    else this.share = sampler.endsWith('always_on') ? 1 : 0;
  }

  /** Whether a span is recorded. With `traceidratio` all services that share a trace id decide the same. */
  includes(parent: Parent | undefined): boolean {
    if (!parent) return Math.random() < this.share;
    if (this.followsParent) return parent.isSampled;
    const random = parseInt(parent.traceId.slice(-RANDOM_DIGITS), 16) / 16 ** RANDOM_DIGITS;
    return random < this.share;
  }
}
