import { findSetting, SETTINGS } from "../chat-settings.ts";
import { tell } from "../tell.ts";
import type { ChatCommand } from "./command.ts";

export const set: ChatCommand = {
  name: "set",
  usage: "[NAME [VALUE]]",
  summary: "change how answers are made, as /set temp 0.7 (nothing: show all)",
  completions: () => SETTINGS.map(({ name }) => name),
  run(talk, argument) {
    if (argument === "") {
      const lines = SETTINGS.map(({ name, summary, show }) => {
        return `${name.padEnd(15)} ${show(talk.settings).padEnd(6)} ${summary}`;
      });
      return tell(lines.join("\n"));
    }
    const [, typed, value] = /^([^\s=]+)(?:[\s=]+(.*))?$/s.exec(argument) ?? ["", argument, undefined];
    const setting = findSetting(typed);
    if (value !== undefined) talk.settings = setting.change(talk.settings, value.trim(), typed);
    tell(`${setting.name} is ${setting.show(talk.settings)}${value === undefined ? "" : " now"}.`);
  },
};
