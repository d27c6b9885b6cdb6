import type { Talk } from "../talk.ts";

/** A command of the chat: a line that starts with a slash and its name. */
export interface ChatCommand {
  /** Without the slash; lower case. */
  readonly name: string;
  /** Other names; the help and Tab show the first one. */
  readonly aliases?: readonly string[];
  /** What may follow it, as the help shows it: `NAME`, `[TEXT]`. Absent: nothing may. */
  readonly usage?: string;
  /** What it does, for the help: one line. */
  readonly summary: string;
  /** Whether the help has its name only. */
  readonly rare?: boolean;
  /** Whether a line is one for this command, by what follows its name; where not, it goes to the model. Default: yes. */
  takes?(argument: string): boolean;
  /** What may follow it, for Tab. */
  completions?(sessions: () => readonly string[]): readonly string[];
  /**
   * Do it. Remarks go out with `note`.
   *
   * @param argument what follows the name, without spaces around it; may be empty, or several lines
   * @throws SluiceError of any kind but `aborted`: it is shown, and the chat goes on
   */
  run(talk: Talk, argument: string): void | Promise<void>;
}
