import type { ChatCommand } from "./command.ts";

export const exit: ChatCommand = {
  name: "exit",
  aliases: ["quit", "bye", "q"],
  summary: "leave (so does Ctrl-D); chat --resume goes on with it",
  run: (talk) => talk.leave(),
};
