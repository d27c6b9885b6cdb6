import { join } from "node:path";
import type { Model } from "../engine/model.ts";
import { throwIfAborted } from "../errors.ts";
import { type SessionEntry, sessionNames } from "../session-store/list.ts";
import { completeCommand } from "./chat-commands/index.ts";
import { readChatInput } from "./chat-input.ts";
import { interruptSignal, signalExitCode, takeCtrlC } from "./interrupt.ts";
import { appendHistory, readHistory } from "./line-editor/history-file.ts";
import { LineInput } from "./line-input.ts";
import { note } from "./note.ts";
import { printableLine } from "./printable.ts";
import { resumeCommand } from "./resume.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { resolveSessions } from "./session-options.ts";
import { stateFolder } from "./state-folder.ts";
import { Talk, type TalkOptions } from "./talk.ts";
import { tell } from "./tell.ts";

/**
 * Talk with the model until the input ends. On a terminal Ctrl-C stops an answer, and leaves when there is none to
 * stop; otherwise each line of stdin is a turn, and answers are all that goes to stdout.
 */
export async function chatLoop(
  model: Model,
  options: TalkOptions,
  {
    resume,
    given,
    named,
  }: {
    readonly resume?: SessionEntry | undefined;
    readonly given?: ReadonlySet<string>;
    /** The model as the user named it, if so. */
    readonly named?: string | undefined;
  } = {},
): Promise<void> {
  const interactive = Boolean(process.stdin.isTTY && process.stdout.isTTY);
  // Who pipes messages in has them already.
  const keeper = new SessionKeeper({
    folder: resolveSessions(),
    automatic: interactive,
    ...(given && { given }),
  });
  const talk = new Talk(model, options, keeper);
  const remind = () => {
    const reminder = keeper.reminder();
    if (reminder !== undefined) note(reminder);
  };
  let leavesNext = false;
  const onCtrlC = () => {
    if (input.lent) return;
    if (talk.stop()) leavesNext = true;
    else if (!talk.answering && (input.discardTyped() || input.giveUp())) leavesNext = false;
    else if (leavesNext) {
      input.close();
      if (talk.answering || !input.canEdit) process.stdout.write("\n");
      sayGoodbye();
      remind();
      process.exit(signalExitCode());
    } else {
      leavesNext = true;
      input.note("Press Ctrl-C again to leave.");
    }
  };
  const onTyped = () => {
    leavesNext = false;
  };
  const sayGoodbye = () => {
    const { name, hasSaved } = keeper;
    if (!interactive || name === undefined || !hasSaved || talk.conversation.turns.length === 0) return;
    tell(`Saved as ${printableLine(name)}. To go on:`);
    // In one line however long it is: it is to be copied.
    note(`  ${resumeCommand(name, named)}`);
  };
  const historyPath = join(stateFolder(), "chat-history");
  if (interactive) tell(talk.banner());
  const remember = historyKeeper(historyPath);
  const history = interactive ? remember.earlier() : [];
  const complete = (text: string) => completeCommand(text, () => sessionNames(keeper.folder));
  const input = new LineInput({ interactive, onCtrlC, onTyped, history, complete });
  talk.input = input;
  const closeInput = () => input.close();
  const releaseCtrlC = interactive ? takeCtrlC(onCtrlC) : () => {};
  interruptSignal.addEventListener("abort", closeInput);

  try {
    if (resume) await talk.resume(resume);
    for (;;) {
      const entry: string[] = [];
      const entered = await readChatInput(async (prompt, optional) => {
        const line = await input.next(prompt, { optional });
        if (typeof line === "string") {
          entry.push(line);
          leavesNext = false;
        }
        return line;
      });
      throwIfAborted(interruptSignal);
      if (entered === undefined) {
        // The line of the prompt is still open.
        if (interactive && !input.canEdit) process.stdout.write("\n");
        break;
      }
      if (entered.kind === "nothing") continue;
      const text = entry.join("\n");
      if (input.remember(text)) remember.add(text);
      await talk.take(entered);
      throwIfAborted(interruptSignal);
      if (talk.left) break;
    }
    if (talk.failed && !interactive) process.exitCode = 1;
  } finally {
    interruptSignal.removeEventListener("abort", closeInput);
    releaseCtrlC();
    input.close();
    remind();
  }
  sayGoodbye();
}

/** The history that is kept for the next chat. What fails is said once, and the chat goes on without it. */
function historyKeeper(path: string) {
  let works = true;
  const attempt = <Result>(action: () => Result, otherwise: Result): Result => {
    try {
      return works ? action() : otherwise;
    } catch (error) {
      works = false;
      const why = printableLine((error as Error).message);
      tell(`sluice: the chat goes on without its history: ${why}`);
      return otherwise;
    }
  };
  return {
    earlier: () => attempt(() => readHistory(path), []),
    add: (text: string) => attempt(() => appendHistory(path, text), undefined),
  };
}
