/** What there is to see of a generation at one moment. */
import type { GenerateProgress } from "../engine/types.ts";
import type { StageLoad, SweepPosition } from "../stream/stream-progress.ts";

/** What does not change while a model generates. */
export interface WatchSubject {
  /** One line: name, layers, dtype, threads. */
  readonly title: string;
  readonly stages: readonly StageLoad[];
  /** Tokens of the prompt, the most that will be generated (Infinity: nobody knows), those that the context holds. */
  readonly promptTokens: number;
  readonly tokenLimit: number;
  readonly contextLength: number;
  /** Bytes of weights in memory: those passing through, and those that stay. */
  readonly weightBytes: number;
  /** Bytes of everything but weights and KV cache that the process may take. */
  readonly overheadBytes: number;
  /** How weights are read, and the bytes per second that the disk was measured to give when read so, where it was. */
  readonly source: "disk" | "page cache" | "memory";
  readonly diskSpeed: number | undefined;
}

/** What is looked at anew each time. */
export interface Sample {
  /** Milliseconds of any clock. */
  readonly now: number;
  readonly position: SweepPosition;
  readonly rssBytes: number;
  readonly kvBytes: number;
  /** Tokens in the KV cache. */
  readonly contextTokens: number;
}

export interface WatchState extends WatchSubject {
  readonly phase: "prompt" | "answer";
  readonly position: SweepPosition;
  readonly rssBytes: number;
  readonly kvBytes: number;
  readonly contextTokens: number;
  /** Bytes per second of the last seconds, and the most there was. */
  readonly readRate: number;
  readonly highestRate: number;
  /** Share of the last seconds in which the arithmetic stood still for want of weights. */
  readonly waiting: number;
  /** Tokens of the prompt that are computed. */
  readonly promptDone: number;
  readonly tokens: number;
  readonly lastToken: string;
  readonly text: string;
  readonly seconds: number;
  /** Of the last tokens; undefined where there are too few. */
  readonly secondsPerToken: number | undefined;
  /** Seconds to the end of the prompt, or at most to the end of the answer. */
  readonly secondsLeft: number | undefined;
}

/** Milliseconds over which rates are taken: long enough to be read, short enough to follow. */
const WINDOW_MS = 3000;
/** Tokens that the time of a token is the mean of. */
const RECENT_TOKENS = 8;
/** Milliseconds below which a rate means nothing. */
const LEAST_MS = 300;

/** Follows a generation: it is told of progress and tokens, looks at samples, and says what there is to see. */
export class Watched {
  readonly #subject: WatchSubject;
  readonly #start: number;
  #samples: Sample[] = [];
  #progress: GenerateProgress | undefined;
  #tokenTimes: number[] = [];
  #tokens = 0;
  #lastToken = "";
  #text = "";
  #highestRate = 0;

  constructor(subject: WatchSubject, now: number) {
    this.#subject = subject;
    this.#start = now;
  }

  get text(): string {
    return this.#text;
  }

  onProgress(progress: GenerateProgress): void {
    this.#progress = progress;
  }

  onToken(text: string, now: number): void {
    this.#tokens++;
    this.#text += text;
    this.#lastToken = text;
    this.#tokenTimes.push(now);
    if (this.#tokenTimes.length > RECENT_TOKENS + 1) this.#tokenTimes.shift();
  }

  look(sample: Sample): void {
    this.#samples.push(sample);
    while (this.#samples.length > 2 && this.#samples[0].now < sample.now - WINDOW_MS) this.#samples.shift();
    this.#highestRate = Math.max(this.#highestRate, this.#readRate());
  }

  /** @throws RangeError before the first look */
  state(): WatchState {
    const sample = this.#samples.at(-1);
    if (sample === undefined) throw new RangeError("nothing was looked at");
    const { now, position, rssBytes, kvBytes, contextTokens } = sample;
    const seconds = (now - this.#start) / 1000;
    const promptDone = this.#promptDone(position);
    const secondsPerToken = this.#secondsPerToken();
    return {
      ...this.#subject,
      ...{ phase: this.#tokens === 0 ? "prompt" : "answer", position, rssBytes, kvBytes, contextTokens },
      ...{ readRate: this.#readRate(), highestRate: this.#highestRate, waiting: this.#waiting() },
      ...{ promptDone, tokens: this.#tokens, lastToken: this.#lastToken, text: this.#text },
      ...{ seconds, secondsPerToken },
      secondsLeft: this.#secondsLeft(seconds, promptDone, secondsPerToken),
    };
  }

  #readRate(): number {
    const [first, last] = [this.#samples[0], this.#samples[this.#samples.length - 1]];
    const ms = last.now - first.now;
    return ms < LEAST_MS ? 0 : ((last.position.bytesRead - first.position.bytesRead) * 1000) / ms;
  }

  #waiting(): number {
    return this.#samples.filter(({ position }) => position.waiting).length / this.#samples.length;
  }

  #promptDone({ computed, stages }: SweepPosition): number {
    const { promptTokens } = this.#subject;
    if (this.#tokens > 0) return promptTokens;
    if (this.#progress === undefined || stages === 0) return 0;
    const { rowsDone, rowsInSweep, rowsTotal } = this.#progress;
    return promptTokens - rowsTotal + rowsDone + Math.floor((rowsInSweep * computed) / stages);
  }

  #secondsPerToken(): number | undefined {
    const times = this.#tokenTimes;
    if (times.length < 2) return undefined;
    return (times[times.length - 1] - times[0]) / 1000 / (times.length - 1);
  }

  #secondsLeft(seconds: number, promptDone: number, perToken: number | undefined): number | undefined {
    const { promptTokens, tokenLimit } = this.#subject;
    if (this.#tokens > 0) {
      const known = perToken !== undefined && Number.isFinite(tokenLimit);
      return known ? (tokenLimit - this.#tokens) * perToken : undefined;
    }
    if (promptDone === 0 || seconds * 1000 < LEAST_MS) return undefined;
    return (seconds * (promptTokens - promptDone)) / promptDone;
  }
}
