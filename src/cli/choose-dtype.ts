/** The question before the first unpack of a model: in which dtype? */
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline/promises";
import { SluiceError, throwIfAborted } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { isForetellable, makePlan, type Plan } from "../plan/plan.ts";
import { openSubject } from "../plan/subject.ts";
import type { Cache } from "../store/cache.ts";
import type { Dtype } from "../store/types.ts";
import { formatTable } from "../timing/table.ts";
import { interruptSignal } from "./interrupt.ts";
import { BUNDLED_MODEL } from "./model-argument.ts";
import { note } from "./note.ts";
import { secondsText } from "./plan-view.ts";
import { printableLine } from "./printable.ts";

/**
 * The dtype to unpack a model in where none was given: f32, unless someone is there to be asked. Who has unpacked the
 * model before has made the choice, and nobody is asked about the small model that comes with sluice.
 *
 * @param path a GGUF file
 * @param unpacked the best of its finished caches
 */
export async function defaultDtype(path: string, root: string, unpacked: Cache | undefined): Promise<Dtype> {
  const canAsk = process.stdin.isTTY && process.stderr.isTTY && !process.env["CI"];
  if (!canAsk || path === BUNDLED_MODEL) return "f32";
  return unpacked?.manifest.dtype ?? (await chooseDtype(path, root));
}

/**
 * Show what each dtype costs and gains, and ask. Takes a second, for disk and arithmetic are measured.
 *
 * @param path a GGUF file
 * @throws SluiceError `aborted` for Ctrl-C and Ctrl-D, and those of the model file
 */
async function chooseDtype(path: string, root: string): Promise<Dtype> {
  const subject = openSubject(path);
  note("Measuring disk and arithmetic …");
  const plan = await makePlan(subject, { root, threads: availableParallelism() });
  throwIfAborted(interruptSignal);
  note(choiceLines(plan).join("\n"));
  for (;;) {
    const chosen = parseChoice(plan, await ask(`Which one? [${plan.recommended}] `));
    if (chosen) return chosen;
    note(`Type one of ${plan.dtypes.map(({ dtype }) => dtype).join(", ")}, or just Enter.`);
  }
}

/** The dtype that an answer means: Enter alone is the recommended one. Undefined for any that is none. */
export function parseChoice({ dtypes, recommended }: Plan, answer: string): Dtype | undefined {
  const name = answer.trim().toLowerCase();
  return name === "" ? recommended : dtypes.find(({ dtype }) => dtype === name)?.dtype;
}

export function choiceLines(plan: Plan): string[] {
  const { model, root, diskFree, dtypes, recommended } = plan;
  // Of small models they would be noise.
  const speeds = isForetellable(plan);
  return [
    `${printableLine(model.name)} is unpacked once. Its weights can be kept as`,
    "",
    ...formatTable([
      ["", "on disk", ...(speeds ? ["a token from disk", "from memory"] : []), "weights"],
      ...dtypes.map(({ dtype, bytes, forecasts, exact }) => [
        `  ${dtype}${dtype === recommended ? " (recommended)" : ""}`,
        formatBytes(bytes),
        ...(speeds ? [forecasts[0], forecasts[forecasts.length - 1]] : []).map(({ secondsPerToken }) =>
          secondsText(secondsPerToken),
        ),
        exact ? "exact" : "rounded",
      ]),
    ]),
    "",
    ...(dtypes.every(({ exact }) => exact)
      ? []
      : ["exact: as in the model file; rounded: some weights lose digits."]),
    `${formatBytes(diskFree)} are free in ${root}. --dtype chooses without asking.`,
  ];
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // Ctrl-C and Ctrl-D close the interface, and leave the question open.
    const closed = new Promise<undefined>((resolve) => terminal.once("close", () => resolve(undefined)));
    const answer = await Promise.race([terminal.question(question), closed]);
    if (answer !== undefined) return answer;
    note("");
    throw new SluiceError("aborted", "nothing was unpacked", { next: "--dtype chooses without asking." });
  } finally {
    terminal.close();
  }
}
