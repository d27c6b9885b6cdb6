import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SluiceError } from "../errors.ts";
import { ENDING } from "../session-store/names.ts";
import { SessionWriter } from "../session-store/session-writer.ts";
import type { SessionContent } from "../session-store/types.ts";
import { reasonOf } from "../store/io-error.ts";
import { failureLines } from "./exit.ts";
import { note } from "./note.ts";
import { printableLine } from "./printable.ts";

/**
 * What is the matter with saving, and what the user was told of it: each thing once, and when it is over. A conversation
 * that cannot be saved in its place is kept as text in a temporary folder as well as it can.
 */
export class SaveTrouble {
  readonly #folder: string;
  /** Absent while all is well. */
  #reason: string | undefined;
  #told = "";
  #rescue: SessionWriter | undefined;

  /** @param folder of saved conversations */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The whole conversation is saved, or there is none. */
  over(): void {
    if (this.#reason !== undefined) note("The conversation is saved again, as a whole.");
    this.#drop();
    this.#reason = undefined;
    this.#told = "";
  }

  /** What follows is another conversation; what was kept of this one stays where it is. */
  leave(): void {
    const reminder = this.reminder();
    if (reminder !== undefined) note(reminder);
    this.#rescue = undefined;
    this.#reason = undefined;
    this.#told = "";
  }

  /** Text and tokens are saved, but there was no room for the KV cache. */
  textOnly(error: unknown): void {
    this.#drop();
    this.#reason = `is saved without its KV cache, which is computed again when it is resumed: ${why(error)}`;
    this.#tell(error, "Its text is saved without the KV cache, which is computed again when it is resumed.");
  }

  /** Nothing could be saved. */
  async failed(error: SluiceError, content: SessionContent): Promise<void> {
    const path = await this.#keepElsewhere(content);
    const kept =
      path === undefined
        ? "copy what you want to keep"
        : `its text is in ${path}: move that into ${this.#folder} to resume it`;
    this.#reason = `is not saved: ${why(error)}; ${kept}`;
    this.#tell(
      error,
      path === undefined
        ? "The chat goes on; it is tried again after the next answer."
        : `Until then its text is kept in ${printableLine(path)}. It is tried again after the next answer.`,
    );
  }

  /** One line for whoever leaves; undefined where all is saved. */
  reminder(): string | undefined {
    return this.#reason && `sluice: this conversation ${printableLine(this.#reason)}`;
  }

  #tell(error: unknown, consequence: string): void {
    const lines = [...failureLines(error), `  ${consequence}`].join("\n");
    if (lines !== this.#told) note(lines);
    this.#told = lines;
  }

  async #keepElsewhere(content: SessionContent): Promise<string | undefined> {
    try {
      this.#rescue ??= new SessionWriter(join(mkdtempSync(join(tmpdir(), "sluice-")), `rescued${ENDING}`));
      await this.#rescue.save(content, []);
      return this.#rescue.path;
    } catch {
      this.#drop();
      return undefined;
    }
  }

  #drop(): void {
    if (this.#rescue) rmSync(dirname(this.#rescue.path), { recursive: true, force: true });
    this.#rescue = undefined;
  }
}

function why(error: unknown): string {
  return error instanceof SluiceError && error.cause ? reasonOf(error.cause) : (error as Error).message;
}
