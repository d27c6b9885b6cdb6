/**
 * Milliseconds on the main thread's clock, for any thread: each has its own origin of `performance.now()`.
 *
 * @param origin `performance.timeOrigin` of the main thread
 */
export function mainClock(origin: number): () => number {
  const ahead = performance.timeOrigin - origin;
  return () => ahead + performance.now();
}
