import { basename } from "node:path";
import { Command } from "commander";
import { readRecording } from "../timing/read-recording.ts";
import type { Recording } from "../timing/recording.ts";
import { textComparison, textReport } from "../timing/text-report.ts";
import { note, print } from "./note.ts";
import { readInput } from "./read-input.ts";
import { writeOutput } from "./write-output.ts";

interface ReportFlags {
  readonly text?: boolean;
  readonly out?: string;
}

export function reportCommand(): Command {
  return new Command("report")
    .description(
      "Show where the time of a recording went (see --timings of run, chat, watch, unpack and bench), or compare two. Makes an HTML page that needs nothing else.",
    )
    .argument("<recording>", "JSON file of --timings; - reads it from stdin")
    .argument("[other]", "another one, to be compared with it")
    .option("--text", "as tables on stdout instead")
    .option(
      "-o, --out <file>",
      "file to write; - for stdout (default: beside the recording, ending in .html)",
    )
    .action(async (path: string, other: string | undefined, flags: ReportFlags) => {
      const recordings = [await read(path)];
      if (other !== undefined) recordings.push(await read(other));
      await (flags.text ? writeText(recordings, flags.out) : writePage(recordings, flags.out, path, other));
    });
}

async function read(path: string): Promise<Recording> {
  const bytes = await readInput(path);
  return readRecording(bytes.toString("utf8"), path === "-" ? "stdin" : path);
}

async function writeText([a, b]: readonly Recording[], out = "-"): Promise<void> {
  const text = `${(b === undefined ? textReport(a) : textComparison(a, b)).join("\n")}\n`;
  if (out === "-") print(text);
  else await writeOutput(out, async (write) => write(Buffer.from(text)));
}

async function writePage(
  recordings: readonly Recording[],
  out: string | undefined,
  path: string,
  other: string | undefined,
): Promise<void> {
  const { htmlReport } = await import("../timing/html-report.ts");
  const target = out ?? pagePath(path, other);
  await writeOutput(target, async (write) => write(Buffer.from(htmlReport(recordings))));
  if (out === undefined) note(`The report is ${target}`);
}

/** `a/b.json` becomes `a/b.html`; compared with `c/d.json` it is `a/b-d.html`, for `b.html` is there already. */
function pagePath(path: string, other: string | undefined): string {
  const first = path === "-" ? "timings" : path.replace(/\.json$/i, "");
  if (other === undefined) return `${first}.html`;
  return `${first}-${other === "-" ? "timings" : basename(other).replace(/\.json$/i, "")}.html`;
}
