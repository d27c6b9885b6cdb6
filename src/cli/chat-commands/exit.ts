import type { ChatCommand } from "./command.ts";

export const exit: ChatCommand = {
  name: "exit",
  summary: "leave (so does Ctrl-D); sluice chat --resume goes on with what is saved",
  run: (talk) => talk.leave(),
};
