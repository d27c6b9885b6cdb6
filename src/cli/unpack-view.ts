/** Shows an unpack on stderr: two bars on a terminal, otherwise a line per tenth. */
import { formatBytes } from "../format-bytes.ts";
import { type Medium, mediumOf } from "../store/medium.ts";
import type { UnpackEvent } from "../unpack/types.ts";
import { note } from "./note.ts";
import { type Bar, NAME_COLUMNS, ProgressBars } from "./progress-bars.ts";

export class UnpackView {
  readonly #stream: NodeJS.WriteStream;
  readonly #bars: ProgressBars;
  #all: Bar | undefined;
  #file: Bar | undefined;
  #total = 0;
  #kept = 0;
  #tenths = 0;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
    this.#bars = new ProgressBars(stream);
  }

  readonly onProgress = (event: UnpackEvent): void => {
    switch (event.type) {
      case "waiting": {
        const { pid, since } = event.holder;
        this.#line(`sluice: process ${pid} is unpacking the same since ${since}: waiting for it`);
        break;
      }
      case "outdated":
        this.#line(`sluice: ${event.folder} is of cache format ${event.format}: it is replaced`);
        break;
      case "start":
        this.#total = event.bytes;
        for (const warning of mediumWarnings(event.folder, mediumOf(event.folder))) this.#line(warning);
        this.#line(`Unpacking ${formatBytes(event.bytes)} in ${event.files} files to ${event.folder}`);
        break;
      case "kept":
        this.#kept = event.doneBytes;
        if (this.#isNews(event.doneBytes)) this.#line(`${this.#doneText(event.doneBytes)} kept`);
        break;
      case "file":
        this.#all ??= this.#bars.add("all".padEnd(NAME_COLUMNS), this.#total, this.#kept);
        this.#file ??= this.#bars.add("", event.bytes);
        this.#file.restart(event.file.padEnd(NAME_COLUMNS), event.bytes);
        break;
      case "written":
        this.#all?.update(event.doneBytes);
        this.#file?.update(event.fileBytes);
        break;
      case "file-done":
        if (!this.#bars.shown && this.#isNews(event.doneBytes))
          this.#line(`${this.#doneText(event.doneBytes)}  ${event.file}`);
        break;
    }
  };

  /** To be called when the unpack has ended, in whatever way. */
  end(): void {
    if (this.#all) this.#bars.stop();
  }

  /** Whether another tenth is done. */
  #isNews(doneBytes: number): boolean {
    const tenths = Math.floor((10 * doneBytes) / this.#total);
    const isNews = tenths > this.#tenths;
    this.#tenths = tenths;
    return isNews;
  }

  #doneText(doneBytes: number): string {
    const percent = Math.floor((100 * doneBytes) / this.#total);
    return `${`${percent}`.padStart(3)} %  ${formatBytes(doneBytes)} of ${formatBytes(this.#total)}`;
  }

  #line(text: string): void {
    note(text, this.#stream);
  }
}

/** What to say of a cache folder that is not on a local disk. */
export function mediumWarnings(folder: string, { kind, fileSystem, freeBytes }: Medium): string[] {
  if (kind === "disk") return [];
  const problem =
    kind === "memory"
      ? "is in memory: what is unpacked there takes the RAM that streaming is to save"
      : "is on a network: each token reads the whole model over it";
  return [
    `sluice: warning: ${folder} ${problem} (${fileSystem}, ${formatBytes(freeBytes)} free).`,
    "  Choose a folder on a local disk with --cache-dir or SLUICE_CACHE_DIR.",
  ];
}
