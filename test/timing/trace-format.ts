/**
 * The rules of Google's "Trace Event Format" (JSON object form) for the events that sluice writes: X, C and M.
 */
type Fields = Readonly<Record<string, unknown>>;

const METADATA: Readonly<Record<string, readonly [argument: string, type: string]>> = {
  process_name: ["name", "string"],
  process_labels: ["labels", "string"],
  process_sort_index: ["sort_index", "number"],
  thread_name: ["name", "string"],
  thread_sort_index: ["sort_index", "number"],
};

/** What is wrong with a trace; nothing, if it is as it should be. */
export function checkTrace(value: unknown): string[] {
  const { traceEvents, displayTimeUnit = "ms" } = value as Fields;
  if (!Array.isArray(traceEvents)) return ["traceEvents is no list"];
  const problems = traceEvents.flatMap((event: Fields, index) =>
    checkEvent(event).map((problem) => `event ${index} ${problem}`),
  );
  if (displayTimeUnit !== "ms" && displayTimeUnit !== "ns") problems.push("displayTimeUnit");
  return [...problems, ...checkNesting(traceEvents)];
}

function checkEvent({ name, cat, ph, pid, tid, ts, dur, args = {} }: Fields): string[] {
  const problems: string[] = [];
  const want = (condition: boolean, problem: string) => condition || problems.push(problem);
  const isTime = (time: unknown) => typeof time === "number" && Number.isFinite(time);
  want(typeof name === "string" && name !== "", "has no name");
  want(cat === undefined || typeof cat === "string", "has a category that is no text");
  want(Number.isSafeInteger(pid) && Number.isSafeInteger(tid), "has no process and thread");
  want(typeof args === "object" && args !== null && !Array.isArray(args), "has arguments that are no object");
  want(isTime(ts), "has no time");
  if (ph === "X") want(isTime(dur) && (dur as number) >= 0, "has no duration");
  else if (ph === "C") want(Object.values(args as Fields).every(isTime), "counts what is no number");
  else if (ph === "M") {
    const [argument, type] = METADATA[name as string] ?? [];
    want(
      argument !== undefined && typeof (args as Fields)[argument] === type,
      "is metadata of no known kind",
    );
  } else want(false, `is of phase ${String(ph)}`);
  return problems;
}

/** Complete events of a thread lie beside or inside each other. */
function checkNesting(events: readonly Fields[]): string[] {
  const threads = new Map<unknown, { start: number; end: number }[]>();
  for (const { ph, tid, ts, dur } of events)
    if (ph === "X") {
      const thread = threads.get(tid) ?? [];
      threads.set(tid, [...thread, { start: ts as number, end: (ts as number) + (dur as number) }]);
    }
  const problems: string[] = [];
  for (const [tid, thread] of threads) {
    const open: number[] = [];
    for (const { start, end } of thread.sort((a, b) => a.start - b.start || b.end - a.end)) {
      // A thousandth of a microsecond is what adding doubles costs.
      while (open.length > 0 && open[open.length - 1] <= start + 1e-3) open.pop();
      if (open.length > 0 && end > open[open.length - 1] + 1e-3) problems.push(`thread ${tid} at ${start}`);
      open.push(end);
    }
  }
  return problems;
}
