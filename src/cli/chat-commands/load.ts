import { findSession } from "../../session-store/list.ts";
import { note } from "../note.ts";
import type { ChatCommand } from "./command.ts";

export const load: ChatCommand = {
  name: "load",
  usage: "NAME",
  summary: "go on with a saved conversation (a beginning of its name will do)",
  async run(talk, name) {
    if (name === "") return note("Which one? /list shows what is saved.");
    const entry = await findSession(talk.keeper.folder, name);
    await talk.resume(entry);
  },
};
