import { SluiceError } from "../../errors.ts";
import { findSession } from "../../session-store/list.ts";
import type { ChatCommand } from "./command.ts";

const LIST = "/list shows what is saved.";

export const load: ChatCommand = {
  name: "load",
  usage: "NAME",
  summary: "go on with a saved one (a beginning of NAME will do)",
  completions: (sessions) => sessions(),
  async run(talk, name) {
    if (name === "") throw new SluiceError("bad-input", "/load needs a name", { next: LIST });
    const entry = await findSession(talk.keeper.folder, name, LIST);
    await talk.resume(entry);
  },
};
