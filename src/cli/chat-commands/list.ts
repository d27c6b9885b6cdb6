import { listSessions } from "../../session-store/list.ts";
import { note } from "../note.ts";
import { sessionTable } from "../session-table.ts";
import type { ChatCommand } from "./command.ts";

export const list: ChatCommand = {
  name: "list",
  summary: "saved conversations, the last changed first",
  async run(talk) {
    const entries = await listSessions(talk.keeper.folder);
    note(entries.length === 0 ? "Nothing is saved yet." : sessionTable(entries).join("\n"));
  },
};
