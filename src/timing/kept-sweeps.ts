import type { Lane, RecordedStage, RecordedSweep, Recording, Timeline } from "./recording.ts";
import type { Guesses, StageTiming, SweepKind, SweepTiming } from "./types.ts";

export interface NotedSweep {
  readonly kind: SweepKind;
  readonly timing: SweepTiming;
  readonly lanes: () => Lane[];
}

/** A sweep as it is kept: with 36 layers two kilobytes. */
interface Kept {
  readonly kind: SweepKind;
  readonly startMs: number;
  readonly ms: number;
  readonly rows: number;
  readonly handoverMs: number;
  readonly threadStartMs: number | undefined;
  /** Of each stage (embedding, layers, output): bytes, read, wait, attention, feed-forward; or compute in their place. */
  readonly stages: Float64Array;
  sampleMs: number;
  guesses?: Guesses;
}

const FIELDS = 5;
/** In longer runs, sweeps half-way through are left out. */
const MOST_SWEEPS = 2048;
/** First decode sweeps whose course is kept in detail. */
const DETAILED_DECODES = 3;

/** The sweeps of a run, in bounded room. */
export class KeptSweeps {
  readonly #sweeps: Kept[] = [];
  readonly #detailed = new Map<Kept, NotedSweep["lanes"]>();
  #decodes = 0;
  #last: Kept | undefined;
  #lastLanes: NotedSweep["lanes"] = () => [];
  readonly #skipped = { sweeps: 0, rows: 0, ms: 0 };

  add({ kind, timing, lanes }: NotedSweep): void {
    const kept = pack(kind, timing);
    this.#sweeps.push(kept);
    this.#last = kept;
    this.#lastLanes = lanes;
    const prefills = this.#sweeps.length - this.#decodes;
    if (kind === "decode") this.#decodes++;
    if (kind === "decode" ? this.#decodes <= DETAILED_DECODES : prefills === 1)
      this.#detailed.set(kept, lanes);
    if (this.#sweeps.length > MOST_SWEEPS) this.#skip();
  }

  /** The token that the last sweep gave was chosen. */
  sampled(ms: number): void {
    if (this.#last) this.#last.sampleMs += ms;
  }

  /** What came of the guess that the last sweep was for. */
  verified({ tokens, guessed, held, guessMs }: Guesses): void {
    if (this.#last) this.#last.guesses = { tokens, guessed, held, guessMs };
  }

  /** @param start what times are counted from */
  recorded(start: number): Pick<Recording, "sweeps" | "timelines" | "skipped"> {
    const detailed = new Map(this.#detailed);
    if (this.#last) detailed.set(this.#last, this.#lastLanes);
    const timelines = [...detailed].map(([kept, lanes]): Timeline => {
      return { sweep: this.#sweeps.indexOf(kept), lanes: lanes().map((lane) => since(lane, start)) };
    });
    return {
      sweeps: this.#sweeps.map((kept) => unpack(kept, start)),
      timelines: timelines.filter(({ sweep }) => sweep >= 0).sort((a, b) => a.sweep - b.sweep),
      ...(this.#skipped.sweeps > 0 && { skipped: this.#skipped }),
    };
  }

  #skip(): void {
    const [{ rows, ms, guesses }] = this.#sweeps.splice(MOST_SWEEPS / 2, 1);
    this.#skipped.sweeps++;
    this.#skipped.rows += guesses?.tokens ?? rows;
    this.#skipped.ms += ms;
  }
}

function pack(kind: SweepKind, timing: SweepTiming): Kept {
  const { startMs, ms, rows, handoverMs, threadStartMs, embedding, layers, output } = timing;
  const stages = new Float64Array((layers.length + 2) * FIELDS);
  const put = (index: number, stage: StageTiming) => {
    const { bytes, readMs, waitMs, computeMs, attentionMs = computeMs, feedForwardMs = 0 } = stage;
    const at = index * FIELDS;
    stages[at] = bytes;
    stages[at + 1] = readMs;
    stages[at + 2] = waitMs;
    stages[at + 3] = attentionMs;
    stages[at + 4] = feedForwardMs;
  };
  put(0, embedding);
  for (let layer = 0; layer < layers.length; layer++) put(1 + layer, layers[layer]);
  put(layers.length + 1, output);
  return { kind, startMs, ms, rows, handoverMs, threadStartMs, stages, sampleMs: 0 };
}

function unpack({ stages, startMs, ...kept }: Kept, start: number): RecordedSweep {
  const last = stages.length / FIELDS - 1;
  const all = Array.from({ length: last + 1 }, (_, index): RecordedStage => {
    const [bytes, readMs, waitMs, attentionMs, feedForwardMs] = stages.subarray(
      index * FIELDS,
      (index + 1) * FIELDS,
    );
    const isLayer = index > 0 && index < last;
    const parts = isLayer && { attentionMs, feedForwardMs };
    return { bytes, readMs, waitMs, computeMs: attentionMs + feedForwardMs, ...parts };
  });
  return {
    ...{ kind: kept.kind, startMs: startMs - start, ms: kept.ms, rows: kept.rows },
    ...{ embedding: all[0], layers: all.slice(1, last), output: all[last] },
    ...{ handoverMs: kept.handoverMs, sampleMs: kept.sampleMs },
    ...(kept.threadStartMs !== undefined && { threadStartMs: kept.threadStartMs }),
    ...kept.guesses,
  };
}

function since({ thread, events }: Lane, start: number): Lane {
  return { thread, events: events.map((event) => ({ ...event, startMs: event.startMs - start })) };
}
