import { SluiceError } from "../../errors.ts";
import { printableLine } from "../printable.ts";
import { tell } from "../tell.ts";
import { currentRecorder, isTimingsPath, timingsWriter } from "../timings-file.ts";
import type { ChatCommand } from "./command.ts";

export const timings: ChatCommand = {
  name: "timings",
  usage: "FILE",
  summary: "write where the time went so far (.html, .json, .csv, .trace.json)",
  async run(_talk, argument) {
    const endings = ".html, .json, .csv or .trace.json";
    if (argument === "")
      throw new SluiceError("bad-input", "/timings needs a file", { next: `Its name ends in ${endings}.` });
    if (!isTimingsPath(argument))
      throw new SluiceError("bad-input", `the name of the file must end in ${endings}, not as ${argument}`);
    const write = await timingsWriter(argument, "/timings");
    write(currentRecorder()!.recording());
    tell(`Written to ${printableLine(argument)}.`);
  },
};
