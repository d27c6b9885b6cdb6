import { CommanderError } from "commander";
import type { Model } from "../engine/model.ts";
import type { GeneratedToken, GenerateProgress, GenerateResult } from "../engine/types.ts";
import { SluiceError } from "../errors.ts";
import { AnswerView, type AnswerViewOptions } from "./answer-view.ts";
import { explainLines } from "./explain-view.ts";
import { note, print } from "./note.ts";
import { printableJson } from "./printable.ts";
import { modelReport, type RunReport } from "./run-report.ts";

/** What `run` prints: the text as it comes, one JSON object at the end, or a line of JSON for everything that happens. */
export type RunFormat = "text" | "json" | "json-lines";

/** An answer on its way to stdout, in one of the formats. */
export class RunOutput {
  readonly #format: RunFormat;
  #view: AnswerView | undefined;
  readonly tokens: GeneratedToken[] = [];
  #printed = 0;

  constructor(format: RunFormat) {
    this.#format = format;
  }

  start(model: Model, prompt: { readonly ids: readonly number[] }, options: AnswerViewOptions): void {
    this.#view = new AnswerView(options);
    this.#event("start", { model: modelReport(model), prompt: { tokens: prompt.ids.length } });
  }

  readonly onProgress = (progress: GenerateProgress): void => this.#view?.onProgress(progress);

  readonly onToken = (token: GeneratedToken): void => {
    this.tokens.push(token);
    this.#event("token", token);
    this.#view?.write(this.#format === "text" ? token.text : "");
    this.#printed += token.text.length;
  };

  /** Say something beside the answer. */
  remark(text: string): void {
    if (this.#view) this.#view.remark(text);
    else note(text);
  }

  /** The generation is over, or has failed: take the live line away, and end the line. */
  close(result?: GenerateResult): void {
    // What was held back when it was stopped.
    const rest = result?.text.slice(this.#printed) ?? "";
    if (this.#format === "text" && rest !== "") this.#view?.write(rest);
    this.#view?.end();
  }

  end(report: RunReport, model: Model): void {
    const { model: _, prompt: __, logprobs: ___, choices: ____, ...rest } = report;
    if (this.#format === "json") print(`${printableJson(report, 0)}\n`);
    this.#event("end", rest);
    if (this.#format === "text" && report.choices !== undefined) {
      note(explainLines(this.tokens, model.tokenizer).join("\n"));
    }
  }

  /** Whoever reads events gets the failure as one too; a command line that makes no sense began nothing. */
  fail(error: unknown): void {
    if (error instanceof CommanderError) return;
    const { message } = error instanceof Error ? error : { message: String(error) };
    const told =
      error instanceof SluiceError
        ? { code: error.code, message, next: error.next }
        : { code: "internal", message };
    this.#event("error", told);
  }

  #event(event: string, fields: object): void {
    if (this.#format === "json-lines") print(`${printableJson({ event, ...fields }, 0)}\n`);
  }
}
