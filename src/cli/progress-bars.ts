/** Progress bars on a terminal that can move its lines; elsewhere they are not shown at all. */
import { MultiBar, type SingleBar } from "cli-progress";
import { formatBytes } from "../format-bytes.ts";
import { isLively } from "./live-line.ts";
import { printableLine } from "./printable.ts";

const FRAMES_PER_SECOND = 10;
/** Columns that everything beside the bar and its name may take. */
const TEXT_COLUMNS = 51;
/** `embedding.bin` is the longest name of a file in the cache. */
export const NAME_COLUMNS = 13;

/** Several bars below each other, with bytes per second and the time that is left. */
export class ProgressBars {
  readonly #bars: MultiBar | undefined;

  /** @param nameColumns of the longest name */
  constructor(stream: NodeJS.WriteStream = process.stderr, nameColumns = NAME_COLUMNS) {
    if (!isLively(stream)) return;
    this.#bars = new MultiBar({
      stream,
      format: "{name} {bar} {percentage}%  {done} of {all}  {rate}  {left}",
      barCompleteChar: "█",
      barIncompleteChar: "░",
      barsize: Math.min(30, Math.max(8, (stream.columns ?? 80) - TEXT_COLUMNS - nameColumns)),
      fps: FRAMES_PER_SECOND,
      hideCursor: null,
      // Cut lines that are too long, instead of telling the terminal not to wrap: it would have to be told back.
      linewrap: true,
      emptyOnZero: true,
      // Ctrl-C is for the command to handle.
      gracefulExit: false,
    });
  }

  /** Whether anything is shown; where not, lines of text should tell of the progress. */
  get shown(): boolean {
    return this.#bars !== undefined;
  }

  /** Add a bar for so many bytes, of which some are there from the start and do not count for the speed. */
  add(name: string, bytes: number, already = 0): Bar {
    const shown = printableLine(name);
    const bar = this.#bars?.create(bytes, already, { name: shown, ...payload(already, bytes, 0) });
    return new Bar(bar, shown, bytes, already);
  }

  /** Leave the bars as they are and go on below them. */
  stop(): void {
    this.#bars?.stop();
  }
}

export class Bar {
  readonly #bar: SingleBar | undefined;
  #name: string;
  #total: number;
  #already: number;
  #start = performance.now();

  constructor(bar: SingleBar | undefined, name: string, total: number, already: number) {
    this.#bar = bar;
    this.#name = name;
    this.#total = total;
    this.#already = already;
    this.update(already);
  }

  /** Begin anew under another name; some bytes may be there from the start, as in `add`. */
  restart(name: string, total: number, already = 0): void {
    this.#name = printableLine(name);
    this.#total = total;
    this.#already = already;
    this.#start = performance.now();
    this.#bar?.start(total, already, { name: this.#name, ...payload(already, total, 0) });
  }

  update(bytes: number): void {
    const seconds = (performance.now() - this.#start) / 1000;
    const rate = seconds > 0 ? (bytes - this.#already) / seconds : 0;
    this.#bar?.update(bytes, { name: this.#name, ...payload(bytes, this.#total, rate) });
  }
}

function payload(done: number, total: number, rate: number): Record<string, string> {
  const left = rate > 0 ? `${formatDuration((total - done) / rate)} left` : "";
  return {
    done: formatBytes(done),
    all: formatBytes(total),
    rate: rate > 0 ? formatRate(rate) : "",
    left: done < total ? left : "",
  };
}

/** Bytes per second for people: whole megabytes, as disks have them, below ten as a network has them. */
function formatRate(rate: number): string {
  return rate >= 9.995e6 ? `${(rate / 1e6).toFixed(0)} MB/s` : `${formatBytes(rate)}/s`;
}

/** Seconds for people: `7 s`, `2:05`, `1:02:05`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  if (whole < 60) return `${whole} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}
