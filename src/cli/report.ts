import { basename } from "node:path";
import { Command } from "commander";
import { SluiceError } from "../errors.ts";
import { haveCommon } from "../timing/comparison.ts";
import { readRecording } from "../timing/read-recording.ts";
import type { Recording } from "../timing/recording.ts";
import { textComparison, textReport } from "../timing/text-report.ts";
import { note, print } from "./note.ts";
import { checkTarget } from "./output-target.ts";
import { readText } from "./read-input.ts";
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
      const inputs = other === undefined ? [path] : [path, other];
      const out = flags.out ?? (flags.text ? "-" : pagePath(path, other));
      if (out !== "-") checkTarget(out, inputs, "--out");
      const recordings: Recording[] = [];
      for (const input of inputs) recordings.push(await read(input));
      if (recordings.length === 2 && !haveCommon(recordings[0], recordings[1]))
        throw new SluiceError(
          "bad-input",
          `${inputs.join(" and ")} cannot be compared: one is of sluice ${recordings[0].command}, the other of sluice ${recordings[1].command}, and they have no work in common`,
          { next: "Give two that both generated, or both unpacked; or each by itself." },
        );
      await (flags.text ? writeText(recordings, out) : writePage(recordings, out));
      if (!flags.text && flags.out === undefined) note(`The report is ${out}`);
    });
}

async function read(path: string): Promise<Recording> {
  const text = await readText(
    path,
    "Give a file that --timings FILE.json has written: those are far shorter.",
  );
  return readRecording(text, path === "-" ? "stdin" : path);
}

async function writeText([a, b]: readonly Recording[], out: string): Promise<void> {
  const text = `${(b === undefined ? textReport(a) : textComparison(a, b)).join("\n")}\n`;
  if (out === "-") print(text);
  else await writeOutput(out, async (write) => write(Buffer.from(text)));
}

async function writePage(recordings: readonly Recording[], out: string): Promise<void> {
  const { htmlReport } = await import("../timing/html-report.ts");
  await writeOutput(out, async (write) => write(Buffer.from(htmlReport(recordings))));
}

/** `a/b.json` becomes `a/b.html`; compared with `c/d.json` it is `a/b-d.html`, for `b.html` is there already. */
function pagePath(path: string, other: string | undefined): string {
  const first = path === "-" ? "timings" : path.replace(/\.json$/i, "");
  if (other === undefined) return `${first}.html`;
  return `${first}-${other === "-" ? "timings" : basename(other).replace(/\.json$/i, "")}.html`;
}
