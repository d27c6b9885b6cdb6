import type { Model } from "../engine/model.ts";
import { throwIfAborted } from "../errors.ts";
import type { SessionEntry } from "../session-store/list.ts";
import { readChatInput } from "./chat-input.ts";
import { interruptSignal, signalExitCode, takeCtrlC } from "./interrupt.ts";
import { LineInput } from "./line-input.ts";
import { note } from "./note.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { resolveSessions } from "./session-options.ts";
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
  let leavesNext = false;
  const onCtrlC = () => {
    if (talk.stop()) leavesNext = true;
    else if (!talk.answering && input.discardTyped()) leavesNext = false;
    else if (leavesNext) {
      process.stdout.write("\n");
      process.exit(signalExitCode());
    } else {
      leavesNext = true;
      input.note("Press Ctrl-C again to leave.");
    }
  };
  const input = new LineInput({ interactive, onCtrlC });
  const closeInput = () => input.close();
  const releaseCtrlC = interactive ? takeCtrlC(onCtrlC) : () => {};
  interruptSignal.addEventListener("abort", closeInput);

  if (interactive) note(talk.banner());
  try {
    if (resume) await talk.resume(resume);
    for (;;) {
      const entered = await readChatInput((prompt) => input.next(prompt));
      throwIfAborted(interruptSignal);
      if (entered === undefined && interactive) process.stdout.write("\n");
      if (entered === undefined) break;
      leavesNext = false;
      await talk.take(entered);
      throwIfAborted(interruptSignal);
      if (talk.left) break;
    }
    if (talk.failed && !interactive) process.exitCode = 1;
  } finally {
    interruptSignal.removeEventListener("abort", closeInput);
    releaseCtrlC();
    input.close();
  }
}
