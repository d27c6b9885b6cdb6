import { homedir } from "node:os";
import { SluiceError } from "../../errors.ts";
import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import { currentRecorder, isTimingsPath, timingsWriter } from "../timings-file.ts";
import type { ChatCommand } from "./command.ts";

export const timings: ChatCommand = {
  name: "timings",
  usage: "FILE",
  summary: "write where the time went so far (.html, .json, .csv, .trace.json)",
  rare: true,
  async run(_talk, argument) {
    const path = argument.replace(/^~(?=[/\\])/, () => homedir());
    const endings = ".html, .json, .csv or .trace.json";
    if (argument === "")
      throw new SluiceError("bad-input", "/timings needs a file", { next: `Its name ends in ${endings}.` });
    if (!isTimingsPath(path))
      throw new SluiceError("bad-input", `the name of the file must end in ${endings}; ${argument} does not`);
    const write = await timingsWriter(path, "/timings");
    write(currentRecorder()!.recording());
    tell(`Written to ${printableLine(path)}.`);
  },
};
