/** Waits until the time has passed or `signal` is aborted. The timer does not keep the process alive. */
export function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end); // otherwise the signal would keep a listener for each wait
      resolve();
    };
    const timer = setTimeout(end, Math.max(0, milliseconds)).unref();
    signal.addEventListener('abort', end);
  });
}
