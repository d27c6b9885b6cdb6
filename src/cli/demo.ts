import { Command } from "commander";
import type { Model } from "../engine/model.ts";
import type { Session } from "../engine/session.ts";
import type { GenerateResult } from "../engine/types.ts";
import { throwIfAborted } from "../errors.ts";
import { answer } from "./answer.ts";
import { AnswerView } from "./answer-view.ts";
import { resolveRoot, temporaryRoot } from "./cache-options.ts";
import { chatLoop } from "./chat-loop.ts";
import { commandName } from "./command-name.ts";
import { addUnpackOptions, type UnpackFlags, unpackShown } from "./ensure-unpacked.ts";
import { interruptSignal } from "./interrupt.ts";
import { BUNDLED_MODEL } from "./model-argument.ts";
import { print } from "./note.ts";
import { preparePrompt } from "./prepare-prompt.ts";
import { timingLines } from "./timings-view.ts";
import { summary } from "./unpack.ts";
import { withUnpacked } from "./with-model.ts";

const QUESTIONS = ["What is the capital of Japan?", "What is 7 plus 5?"];
const GREEDY = { temperature: 0 };

/** What `npm start` runs: the whole way from a model file to answers, with the model that comes with sluice. */
export function demoCommand(): Command {
  const command = new Command("demo").description("Unpack the bundled model and ask it two questions.");
  return addUnpackOptions(command).action(async (flags: UnpackFlags) => {
    const root = flags.tempCache ? temporaryRoot() : resolveRoot(flags.cacheDir);
    const unpacked = await unpackShown(BUNDLED_MODEL, root, flags, {});
    printLines(...summary(unpacked, flags.tempCache));
    await withUnpacked(unpacked.folder, {}, demonstrate);
  });
}

async function demonstrate(model: Model): Promise<void> {
  const session = model.createSession();
  const results: GenerateResult[] = [];
  for (const question of QUESTIONS) results.push(await ask(model, session, question));
  printLines("", "Times of the second question:", "");
  printLines(...timingLines({ loadMs: model.loadMs, ...results[results.length - 1] }), "");
  if (process.stdin.isTTY && process.stdout.isTTY) {
    return chatLoop(model, { system: "", sampling: GREEDY, template: {}, verbose: false });
  }
  printLines(`To chat with it: ${commandName()} chat`);
}

async function ask(model: Model, session: Session, question: string): Promise<GenerateResult> {
  printLines("", `> ${question}`);
  const view = new AnswerView();
  const { ids } = preparePrompt(model, [{ role: "user", content: question }], {});
  const result = await answer(session, ids, {
    sampling: GREEDY,
    signal: interruptSignal,
    onProgress: view.onProgress,
    onToken: ({ text }) => view.write(text),
  }).finally(() => view.end());
  throwIfAborted(interruptSignal);
  return result;
}

function printLines(...lines: readonly string[]): void {
  print(`${lines.join("\n")}\n`);
}
