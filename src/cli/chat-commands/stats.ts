import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const stats: ChatCommand = {
  name: "stats",
  summary: "tokens and times of the last answer, by layer",
  rare: true,
  async run(talk) {
    tell((await talk.stats()).join("\n"));
  },
};
