import { InvalidArgumentError } from "commander";
import { note } from "../note.ts";
import { printableLine } from "../printable.ts";
import { currentRecorder, parseTimingsPath, timingsWriter } from "../timings-file.ts";
import type { ChatCommand } from "./command.ts";

export const timings: ChatCommand = {
  name: "timings",
  usage: "FILE",
  summary: "write where the time went so far (.html, .json, .csv, .trace.json)",
  async run(_talk, argument) {
    if (argument === "") return note("/timings FILE needs a file: .html, .json, .csv or .trace.json.");
    let path: string;
    try {
      path = parseTimingsPath(argument);
    } catch (error) {
      if (error instanceof InvalidArgumentError) return note(`${printableLine(argument)}: ${error.message}`);
      throw error;
    }
    const write = await timingsWriter(path);
    write(currentRecorder()!.recording());
    note(`Written to ${printableLine(path)}.`);
  },
};
