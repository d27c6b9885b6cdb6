import { findSetting, SETTINGS } from "../chat-settings.ts";
import { listRows } from "../list-rows.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const set: ChatCommand = {
  name: "set",
  usage: "[NAME [VALUE]]",
  summary: "change sampling, as /set temp 0.7 (nothing: show all)",
  completions: () => SETTINGS.map(({ name }) => name),
  run(talk, argument) {
    if (argument === "") {
      const rows = SETTINGS.map(({ name, summary, show }): [string, string] => [
        `${name.padEnd(15)} ${show(talk.settings)}`,
        summary,
      ]);
      return tell(listRows(rows, process.stderr).join("\n"));
    }
    const [, typed, value] = /^([^\s=]+)(?:[\s=]+(.*))?$/s.exec(argument) ?? ["", argument, undefined];
    const setting = findSetting(typed);
    if (value !== undefined) talk.settings = setting.change(talk.settings, value.trim(), typed);
    tell(`${setting.name} is ${setting.show(talk.settings)}${value === undefined ? "" : " now"}.`);
  },
};
