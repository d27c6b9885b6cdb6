import { SluiceError } from "../../errors.ts";
import { THINK_MODES, type ThinkMode } from "../chat-settings.ts";
import { nearest } from "../nearest.ts";
import { tell } from "../tell.ts";
import { thinkSwitch } from "../thinking.ts";
import type { ChatCommand } from "./command.ts";

const MEANINGS: Readonly<Record<ThinkMode, string>> = {
  on: "Thoughts are shown.",
  off: "The model is asked not to think; thoughts that come all the same are hidden.",
  hide: "The model may think; its thoughts are hidden.",
};

export const think: ChatCommand = {
  name: "think",
  usage: "[on|off|hide]",
  summary: "show the model's thoughts, have none, or hide them",
  // Some models take /think in a message as a switch.
  takes: (argument) => !/\s/.test(argument),
  completions: () => THINK_MODES,
  run(talk, argument) {
    if (argument === "") return tell(MEANINGS[talk.think ?? "on"]);
    const mode = THINK_MODES.find((known) => known === argument.toLowerCase());
    if (mode === undefined) {
      const meant = nearest(argument.toLowerCase(), THINK_MODES);
      throw new SluiceError("bad-input", `/think takes on, off or hide, not ${argument}`, {
        next:
          meant === undefined ? "Put a space before it to send it to the model." : `Did you mean ${meant}?`,
      });
    }
    talk.think = mode;
    const deaf = mode !== "hide" && thinkSwitch(talk.templateSource) === undefined;
    const doubt = " The chat template has no switch for it: whether there are any is left to the model.";
    tell(`${MEANINGS[mode]}${deaf ? doubt : ""}`);
  },
};
