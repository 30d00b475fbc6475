// One turn of the event loop handles all requests that have arrived, so a request waits for two turns at most. When a turn has taken half a
// second of CPU time, the other requests in it are refused before any work is done for them. A burst of half a second of work is answered as a
// whole. CPU time counts, because a turn that takes long while other processes have the processor is no overload.

const MAX_TURN_MS = 500;
/** The CPU time is read once for so many requests, since it takes a microsecond. A turn with fewer is not measured. */
const MEASURED = 256;

export class Overload {
  private requests = 0;
  private startedAt = 0;
  private isOver = false;

  /** @param cpuTime of the process, in milliseconds */
  constructor(private readonly cpuTime = ownCpuTime) {}

  /** Whether the next request of this turn is admitted. */
  admits(): boolean {
    if (this.requests++ === 0)
      setImmediate(() => {
        this.requests = 0;
        this.isOver = false;
      });
    if (this.requests === MEASURED) this.startedAt = this.cpuTime();
    else if (this.requests % MEASURED === 0)
      this.isOver = this.cpuTime() - this.startedAt >= MAX_TURN_MS;
    return !this.isOver;
  }
}

function ownCpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
