import { join } from "node:path";
import type { Model } from "../engine/model.ts";
import { throwIfAborted } from "../errors.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { completeCommand } from "./chat-commands/index.ts";
import { readChatInput } from "./chat-input.ts";
import { interruptSignal, signalExitCode, takeCtrlC } from "./interrupt.ts";
import { appendHistory, readHistory } from "./line-editor/history-file.ts";
import { LineInput } from "./line-input.ts";
import { note } from "./note.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { resolveSessions } from "./session-options.ts";
import { stateFolder } from "./state-folder.ts";
import { Talk, type TalkOptions } from "./talk.ts";

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
  }: { readonly resume?: SessionEntry | undefined; readonly given?: ReadonlySet<string> } = {},
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
    else if (!talk.answering && input.discardTyped()) leavesNext = false;
    else if (leavesNext) {
      input.close();
      if (talk.answering || !input.canEdit) process.stdout.write("\n");
      remind();
      process.exit(signalExitCode());
    } else {
      leavesNext = true;
      input.note("Press Ctrl-C again to leave.");
    }
  };
  const historyPath = join(stateFolder(), "chat-history");
  const history = interactive ? readHistory(historyPath) : [];
  if (interactive) note(talk.banner());
  const input = new LineInput({ interactive, onCtrlC, history, complete: completeCommand });
  talk.input = input;
  const closeInput = () => input.close();
  const releaseCtrlC = interactive ? takeCtrlC(onCtrlC) : () => {};
  interruptSignal.addEventListener("abort", closeInput);
  const remember = historyKeeper(historyPath);

  try {
    if (resume) await talk.resume(resume);
    for (;;) {
      const entry: string[] = [];
      const entered = await readChatInput(async (prompt) => {
        const line = await input.next(prompt);
        if (line !== undefined) entry.push(line);
        return line;
      });
      throwIfAborted(interruptSignal);
      if (entered === undefined) break;
      leavesNext = false;
      const text = entry.join("\n");
      if (input.remember(text)) remember(text);
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
}

/** Adds to the history that is kept. Where that fails it is said once: the chat goes on. */
function historyKeeper(path: string): (text: string) => void {
  let works = true;
  return (text) => {
    try {
      if (works) appendHistory(path, text);
    } catch (error) {
      works = false;
      note(`sluice: what is typed cannot be kept for the next chat: ${(error as Error).message}`);
    }
  };
}
