import type { RunningService } from './service.js';

/** Sends requests to the replicas in turn, but to none that did not say it was ready when it was last asked. */
export class Balancer {
  private ready: readonly RunningService[];
  private next = 0;
  private readonly timer: NodeJS.Timeout;

  /** @param replicas may change while the balancer works */
  constructor(
    private readonly replicas: readonly RunningService[],
    probeMs: number,
  ) {
    this.ready = [...replicas];
    this.timer = setInterval(() => void this.probe(), probeMs);
  }

  /** The address for the next request. */
  readonly target = (): string => this.ready[this.next++ % this.ready.length]?.url ?? '';

  stop(): void {
    clearInterval(this.timer);
  }

  private async probe(): Promise<void> {
    const asked = [...this.replicas];
    const states = await Promise.all(asked.map(isReady));
    this.ready = asked.filter((_, at) => states[at]);
  }
}

const isReady = (service: RunningService): Promise<boolean> =>
  service.readiness().then(
    ({ status }) => status === 200,
    () => false,
  );
