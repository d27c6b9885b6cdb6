import type { ChatCommand } from "./command.ts";

export const exit: ChatCommand = {
  name: "exit",
  summary: "leave (so does Ctrl-D)",
  run: (talk) => talk.leave(),
};
