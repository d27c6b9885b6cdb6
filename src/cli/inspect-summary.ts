/** What a model is at a glance: its shape, its tokenizer, whether sluice runs it, and what that takes. */
import { OVERHEAD_BYTES } from "../engine/budget.ts";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { readNumbers } from "../gguf/arrays.ts";
import type { Gguf } from "../gguf/types.ts";
import { countParameters, kvBytes, needsOf, recommend, usefulDtypes, usualContext } from "../plan/needs.ts";
import { type Subject, subjectOf } from "../plan/subject.ts";
import type { Dtype } from "../store/types.ts";
import { createChatTemplate } from "../text/chat-template.ts";
import { isHidden } from "../text/token-types.ts";
import { countText } from "./plan-view.ts";
import { printableLine } from "./printable.ts";
import { textTable } from "./text-table.ts";

/** What running a model takes in one dtype. */
export interface Needs {
  readonly dtype: Dtype;
  readonly diskBytes: number;
  /** With nothing kept but the ring, and a context of `context` tokens. */
  readonly memoryBytes: number;
  readonly exact: boolean;
  /** Types of the file whose weights are rounded. */
  readonly rounded: readonly string[];
}

export interface Verdict {
  /** Why sluice cannot run the model; absent where it can. */
  readonly reason?: string;
  readonly next?: string | undefined;
  readonly subject?: Subject;
  readonly context?: number;
  readonly needs?: readonly Needs[];
  readonly recommended?: Dtype;
}

/** Whether sluice runs a model, and what it takes then. */
export function judge(gguf: Gguf): Verdict {
  let subject: Subject;
  try {
    subject = subjectOf(gguf);
  } catch (error) {
    if (error instanceof SluiceError) return { reason: error.message, next: error.next };
    throw error;
  }
  const { plan } = subject;
  const context = usualContext(plan.model);
  const all = usefulDtypes(plan).map((dtype) => needsOf(subject, dtype));
  const needs = all.map(({ dtype, bytes, ringBytes, kvType, exact, rounded }) => ({
    dtype,
    diskBytes: bytes,
    memoryBytes: OVERHEAD_BYTES + ringBytes + kvBytes(plan.model, kvType) * context,
    exact,
    rounded,
  }));
  return { subject, context, needs, recommended: recommend(all) };
}

export function summaryLines(gguf: Gguf, verdict: Verdict): string[] {
  return [...modelLines(gguf, verdict.subject), tokenizerLine(gguf), "", ...verdictLines(verdict)];
}

function modelLines(gguf: Gguf, subject: Subject | undefined): string[] {
  if (subject === undefined) {
    const name = text(gguf, "general.name");
    const architecture = text(gguf, "general.architecture") ?? "no architecture";
    return [printableLine(name === undefined ? architecture : `${name}: ${architecture}`)];
  }
  const { plan } = subject;
  const { name, architecture, layers, width, contextLength } = plan.model;
  const { heads, kvHeads, feedForward } = layers[0];
  const parameters = countParameters(plan);
  const bits = ([...gguf.tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0) * 8) / parameters;
  return [
    `${printableLine(name)}: ${architecture}, ${layers.length} layers, ${countText(parameters)} weights of ${bits.toFixed(1)} bits on average`,
    `width ${width}, ${heads} heads (${kvHeads} of keys and values), feed-forward ${feedForward}, context ${contextLength || "unknown"}`,
  ];
}

function tokenizerLine(gguf: Gguf): string {
  const model = text(gguf, "tokenizer.ggml.model");
  const pre = text(gguf, "tokenizer.ggml.pre");
  const tokens = gguf.metadata.get("tokenizer.ggml.tokens");
  const count = tokens?.type === "array" ? tokens.length : 0;
  const types = gguf.metadata.get("tokenizer.ggml.token_type");
  // What stands in for a tokenizer.json that is not there: no text becomes any of these.
  const wordless =
    types?.type === "array" && readNumbers(gguf, types).every((type) => isHidden(Number(type)));
  const words =
    model === undefined || wordless
      ? "none, text cannot be read"
      : `${model}${pre === undefined ? "" : ` (${pre})`}, ${count} tokens`;
  return `tokenizer: ${printableLine(words)}; chat template: ${printableLine(templateText(gguf))}`;
}

/** Whether there is a chat template, and whether it can be used. */
function templateText(gguf: Gguf): string {
  const source = text(gguf, "tokenizer.chat_template");
  const { fallback } = createChatTemplate(source);
  if (source === undefined) return "none, ChatML is used";
  return fallback === undefined ? `${source.length} characters` : `${fallback}, ChatML is used`;
}

function verdictLines({ reason, next, needs, recommended, context }: Verdict): string[] {
  if (needs === undefined) {
    return [`sluice cannot run it: ${printableLine(reason!)}`, ...(next ? [`  ${printableLine(next)}`] : [])];
  }
  return [
    "sluice can run it",
    ...textTable([
      ["  --dtype", "on disk", "in memory", "weights"],
      ...needs.map(
        ({ dtype, diskBytes, memoryBytes, exact, rounded }) => [
          `  ${dtype}${dtype === recommended ? " (recommended)" : ""}`,
          formatBytes(diskBytes),
          formatBytes(memoryBytes),
          exact ? "exact" : `rounded: ${rounded.join(", ")}`,
        ],
        [0, 3],
      ),
    ]),
    `  in memory: at most, with a context of ${context} tokens; --ram keeps weights there too. \`sluice plan\` foretells the speed.`,
  ];
}

function text({ metadata }: Gguf, key: string): string | undefined {
  const entry = metadata.get(key);
  return entry?.type === "string" ? entry.value : undefined;
}
