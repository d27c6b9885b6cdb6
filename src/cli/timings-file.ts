/** `--timings FILE`: what is recorded while a command works, written when the process ends, however it ends. */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { SluiceError } from "../errors.ts";
import { writeFileAtomic } from "../store/atomic.ts";
import { ioError } from "../store/io-error.ts";
import { csvText } from "../timing/csv.ts";
import { Recorder } from "../timing/recorder.ts";
import type { Recording } from "../timing/recording.ts";
import { traceText } from "../timing/trace.ts";
import { failureLines } from "./exit.ts";
import { note } from "./note.ts";
import { checkTarget, endOfLinks, inputsOf } from "./output-target.ts";
import { printableJson } from "./printable.ts";

type Format = (recording: Recording) => string;

/** By the ending of the file; `.trace.json` before `.json`. HTML is loaded only where it is wanted. */
const FORMATS: readonly (readonly [ending: string, load: () => Promise<Format>])[] = [
  [".trace.json", async () => traceText],
  [".json", async () => (recording) => `${printableJson(recording, 0)}\n`],
  [".csv", async () => csvText],
  [
    ".html",
    async () => {
      const { htmlReport } = await import("../timing/html-report.ts");
      return (recording) => htmlReport([recording]);
    },
  ],
];

let recorder: Recorder | undefined;
let wanted = false;
/** Files that the command reads: no recording takes their place. */
let inputs: readonly string[] = [];

/** The recorder of this process, where its command has one. */
export function currentRecorder(): Recorder | undefined {
  return recorder;
}

/** Whether a recording will be written, so that it is worth measuring what belongs to it. */
export function timingsAreWanted(): boolean {
  return wanted;
}

/** Let a command record, from its start on, and write what was recorded where `--timings` says. */
export function addTimingsOption(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--timings <file>",
        "write where the time went, by the file's ending: .json, .csv, .html, or .trace.json for Perfetto",
      ).argParser(parseTimingsPath),
    )
    .hook("preAction", async (acting) => {
      recorder = new Recorder(acting.name());
      inputs = inputsOf(acting);
      const path: string | undefined = acting.getOptionValue("timings");
      if (path === undefined) return;
      wanted = true;
      const write = await timingsWriter(path);
      process.once("exit", (code) => writeAtExit(write, code));
    });
}

/** Whether the ending says how to write it. */
export function isTimingsPath(path: string): boolean {
  return formatOf(path) !== undefined;
}

/** @throws InvalidArgumentError for an ending that says nothing */
export function parseTimingsPath(path: string): string {
  if (!isTimingsPath(path))
    throw new InvalidArgumentError("It must end in .json, .csv, .html or .trace.json.");
  return path;
}

/**
 * Find out whether recordings can be written to a file, before there are any.
 *
 * @param path with an ending that `parseTimingsPath` takes
 * @param by what the path was given with
 * @returns a function that writes one: the file is replaced as a whole or not at all
 * @throws SluiceError `bad-input` for a file that must not be lost; `io` or `no-space`, as the function does
 */
export async function timingsWriter(
  path: string,
  by: "--timings" | "/timings" = "--timings",
): Promise<(recording: Recording) => void> {
  const next = by === "--timings" ? "Check the path given with --timings." : "Check the path.";
  const format = await formatOf(path)!();
  const attempt = <Result>(action: () => Result): Result => {
    try {
      return action();
    } catch (error) {
      throw ioError(error, "write", path, next);
    }
  };
  attempt(() => checkTarget(path, inputs, by));
  const target = attempt(() => endOfLinks(path));
  const found = statSync(target, { throwIfNoEntry: false });
  if (found && !found.isFile())
    throw new SluiceError("io", `cannot write ${path}: it is there already, and is no file`, { next });
  const trial = `${target}.${process.pid}.partial`;
  attempt(() => {
    writeFileSync(trial, "", { flag: "wx" });
    rmSync(trial);
  });
  return (recording) => attempt(() => writeFileAtomic(target, Buffer.from(format(recording))));
}

function formatOf(path: string): (() => Promise<Format>) | undefined {
  return FORMATS.find(([ending]) => path.toLowerCase().endsWith(ending))?.[1];
}

/** A command that has failed before anything was recorded must not replace what an earlier one has. */
function writeAtExit(write: (recording: Recording) => void, code: number): void {
  const recording = recorder!.recording();
  if (code !== 0 && recording.spans.length === 0 && recording.unpack === undefined) return;
  try {
    write(recording);
  } catch (error) {
    note(failureLines(error).join("\n"));
    process.exitCode = code || 1;
  }
}
