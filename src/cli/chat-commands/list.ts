import { listSessions } from "../../session-store/list.ts";
import { sessionTable } from "../session-table.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const list: ChatCommand = {
  name: "list",
  summary: "saved conversations, the last changed first",
  async run(talk) {
    const entries = await listSessions(talk.keeper.folder);
    tell(
      entries.length === 0
        ? "Nothing is saved yet."
        : sessionTable(entries, process.stderr.columns).join("\n"),
    );
  },
};
