import { note } from "../note.ts";
import type { ChatCommand } from "./command.ts";

export const stats: ChatCommand = {
  name: "stats",
  summary: "tokens and times of the last answer, by layer",
  async run(talk) {
    note((await talk.stats()).join("\n"));
  },
};
