/** Shows a pull on stderr: a bar, with one for all files where there are several; without a terminal a line per tenth. */
import { basename } from "node:path";
import { formatBytes } from "../format-bytes.ts";
import type { PullEvent } from "../hub/types.ts";
import { note } from "./note.ts";
import { type Bar, formatDuration, ProgressBars } from "./progress-bars.ts";

/** Names may be long; in 80 columns there must be room for a bar beside them. */
const NAME_COLUMNS = 20;

export class PullView {
  readonly #stream: NodeJS.WriteStream;
  #bars: ProgressBars | undefined;
  #all: Bar | undefined;
  #one: Bar | undefined;
  #start: Extract<PullEvent, { type: "start" }> | undefined;
  #file: Extract<PullEvent, { type: "file" }> | undefined;
  #phase: "check" | "download" = "download";
  #tenths = 0;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  readonly onProgress = (event: PullEvent): void => {
    switch (event.type) {
      case "start": {
        this.#start = event;
        const { name, files, bytes, haveBytes, folder } = event;
        const what = files > 1 ? `${formatBytes(bytes)} in ${files} files` : formatBytes(bytes);
        const have = haveBytes > 0 ? `, of which ${formatBytes(haveBytes)} are here` : "";
        this.#line(`Pulling ${name}, ${what}${have}, to ${folder}`);
        this.#tenths = Math.floor((10 * haveBytes) / bytes);
        break;
      }
      case "file":
        this.#file = event;
        this.#show(event.haveBytes > 0 ? "check" : "download");
        break;
      case "bytes":
        if (event.phase !== this.#phase) this.#show(event.phase);
        this.#one?.update(event.fileBytes);
        if (event.phase === "check") break;
        this.#all?.update(event.doneBytes);
        this.#tell(event.doneBytes);
        break;
      case "retry":
        this.#line(`sluice: ${event.reason}; trying again in ${formatDuration(event.ms / 1000)}`);
        break;
      case "waiting": {
        const { pid, since } = event.holder;
        this.#line(`sluice: process ${pid} is downloading the same since ${since}: waiting for it`);
        break;
      }
    }
  };

  /** To be called when the pull has ended, in whatever way. */
  end(): void {
    this.#bars?.stop();
    this.#bars = undefined;
    this.#all = undefined;
    this.#one = undefined;
  }

  /** Begin a bar for the file, which is read again or downloaded. */
  #show(phase: "check" | "download"): void {
    if (this.#file === undefined || this.#start === undefined) return;
    this.#phase = phase;
    const { file, bytes, haveBytes } = this.#file;
    const already = phase === "download" ? haveBytes : 0;
    const name = phase === "check" ? "checking the start" : shortened(basename(file));
    const total = phase === "check" ? haveBytes : bytes;
    this.#bars ??= new ProgressBars(this.#stream, NAME_COLUMNS);
    if (this.#start.files > 1)
      this.#all ??= this.#bars.add("all".padEnd(NAME_COLUMNS), this.#start.bytes, this.#start.haveBytes);
    this.#one ??= this.#bars.add("", bytes);
    this.#one.restart(this.#start.files > 1 ? name.padEnd(NAME_COLUMNS) : name, total, already);
  }

  /** Where there are no bars, say that another tenth is done. */
  #tell(doneBytes: number): void {
    const { bytes } = this.#start!;
    const tenths = Math.floor((10 * doneBytes) / bytes);
    if (tenths <= this.#tenths) return;
    this.#tenths = tenths;
    if (this.#bars?.shown) return;
    const percent = `${Math.floor((100 * doneBytes) / bytes)}`.padStart(3);
    this.#line(`${percent} %  ${formatBytes(doneBytes)} of ${formatBytes(bytes)}`);
  }

  /** Print a line; bars that stand above it stay as they are, and go on below. */
  #line(text: string): void {
    const wasShown = this.#bars !== undefined;
    this.end();
    note(text, this.#stream);
    if (wasShown) this.#show(this.#phase);
  }
}

/** The end of a name says more than its beginning. */
function shortened(name: string): string {
  return name.length > NAME_COLUMNS ? `…${name.slice(1 - NAME_COLUMNS)}` : name;
}
