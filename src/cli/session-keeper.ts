import { existsSync } from "node:fs";
import { SluiceError } from "../errors.ts";
import { pruneSessions, removeSession, type SessionEntry, sessionPath } from "../session-store/list.ts";
import { automaticName, checkName, isAutomatic } from "../session-store/names.ts";
import { SavedSession } from "../session-store/saved-session.ts";
import { SessionWriter } from "../session-store/session-writer.ts";
import type { SavedBlock, SessionContent, SessionSettings } from "../session-store/types.ts";
import { printableLine } from "./printable.ts";
import { SaveTrouble } from "./save-trouble.ts";
import { forgottenOf, mismatch, sessionModel, settingsOf, withSettings } from "./session-state.ts";
import { localTime } from "./session-table.ts";
import type { Talk } from "./talk.ts";
import { tell } from "./tell.ts";

export interface KeeperOptions {
  readonly folder: string;
  /** Whether a conversation without a name is saved, under one that it is given. */
  readonly automatic: boolean;
  /** Options that were given on the command line: they win over what is saved. */
  readonly given?: ReadonlySet<string>;
}

/** What a session holds of a conversation. */
type Snapshot = Pick<SessionContent, "ids"> & { readonly blocks: readonly SavedBlock[] };

/** Saves the conversation of a chat after every change, and takes up saved ones. */
export class SessionKeeper {
  readonly folder: string;
  readonly #automatic: boolean;
  readonly #given: ReadonlySet<string>;
  #name: string | undefined;
  /** A name that sluice has given it, though it may not be saved under it yet. */
  #chosen: string | undefined;
  #writer: SessionWriter | undefined;
  #created = new Date();
  /** What was saved last. */
  #saved = "";
  /** Whether this chat has saved the conversation, or more of it. */
  #hasSaved = false;
  readonly #trouble: SaveTrouble;

  constructor({ folder, automatic, given = new Set() }: KeeperOptions) {
    this.folder = folder;
    this.#automatic = automatic;
    this.#given = given;
    this.#trouble = new SaveTrouble(folder);
  }

  /** Name of the conversation, once it is saved. */
  get name(): string | undefined {
    return this.#name;
  }

  /** Whether what was said in this chat can be gone on with. */
  get hasSaved(): boolean {
    return this.#hasSaved;
  }

  /** What follows is another conversation, of today; the one that was saved stays as it is. */
  begin(talk: Talk): void {
    if (!this.#given.has("date")) talk.template = { ...talk.template, date: new Date() };
    this.#trouble.leave();
    this.#forget();
  }

  #forget(): void {
    this.#name = undefined;
    this.#chosen = undefined;
    this.#writer = undefined;
    this.#created = new Date();
    this.#hasSaved = false;
  }

  /** For whoever leaves: that the conversation is not saved, and why; undefined where it is. */
  reminder(): string | undefined {
    return this.#trouble.reminder();
  }

  /** Save what has changed since the last time. A failure is told, and the chat goes on. */
  async autosave(talk: Talk): Promise<void> {
    const isNew = this.#name === undefined;
    if (isNew && (!this.#automatic || talk.conversation.turns.length === 0)) return;
    // A question that is still to be answered does not cost the answer that it had.
    const isEmpty = talk.conversation.turns.length === 0;
    if (isEmpty && talk.unanswered !== undefined) return;
    const state = stateOf(talk);
    if (state === this.#saved) return;
    try {
      if (isEmpty) await this.#clear(talk);
      else if (isNew) await this.#saveAsNew(talk);
      else await this.#saveAgain(talk);
      this.#saved = state;
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      await this.#trouble.failed(error, this.#content(talk, talk.session.ids));
    }
  }

  /**
   * Give the conversation a name; it is saved under it from now on.
   *
   * @throws SluiceError `bad-input` for a name that is none, or another conversation's; `io`, `no-space`
   */
  async saveAs(talk: Talk, text: string): Promise<string> {
    const name = checkName(text);
    if (talk.conversation.turns.length === 0)
      throw new SluiceError("bad-input", "there is nothing to save yet", { next: "Ask something first." });
    if (name === this.#name) {
      await this.#save(talk);
    } else {
      const path = sessionPath(this.folder, name);
      if (existsSync(path))
        throw new SluiceError("bad-input", `there is a conversation ${name} already`, {
          next: `Choose another name, or delete that one: \`sluice sessions rm ${JSON.stringify(name)}\``,
        });
      const before = this.#name;
      const writer = new SessionWriter(path);
      await this.#save(talk, writer);
      this.#writer = writer;
      this.#name = name;
      // It has only been renamed then.
      if (before !== undefined && isAutomatic(before))
        await removeSession({ path: sessionPath(this.folder, before) });
    }
    this.#saved = stateOf(talk);
    return name;
  }

  /**
   * Take up a saved conversation: with its KV cache where that fits this model, otherwise from its text.
   *
   * @returns what is to be said about it
   * @throws SluiceError `bad-session` for a file in which nothing can be read, `io`
   */
  async load(talk: Talk, { name, path }: Pick<SessionEntry, "name" | "path">): Promise<string[]> {
    const saved = await SavedSession.open(path);
    try {
      const { head } = saved;
      const { system } = talk.conversation;
      this.#trouble.leave();
      talk.conversation.restore(head.messages, forgottenOf(head.settings));
      if (this.#given.has("system")) talk.conversation.system = system;
      Object.assign(talk, withSettings(talk, head.settings, this.#given));
      const problem = await restoreKv(talk, saved);
      this.#forget();
      const here = sessionModel(talk.model);
      const foreign = head.model.fingerprint !== here.fingerprint;
      if (!foreign) {
        this.#name = name;
        this.#created = new Date(head.created);
        this.#writer = new SessionWriter(path);
        const stamps = problem === undefined ? talk.session.snapshot().blocks.map(({ stamp }) => stamp) : [];
        this.#writer.adopt(saved, stamps);
      }
      this.#saved = stateOf(talk);
      return [...loadedLines(name, saved, problem), ...(foreign ? [this.#stays()] : [])];
    } finally {
      await saved.close();
    }
  }

  #stays(): string {
    const now = this.#automatic ? "is saved as a new conversation" : "is not saved unless /save names it";
    return `What is said now ${now}; that one stays as it is.`;
  }

  async #saveAsNew(talk: Talk): Promise<void> {
    this.#chosen ??= automaticName(this.#created);
    const name = this.#chosen;
    const writer = new SessionWriter(sessionPath(this.folder, name));
    await this.#save(talk, writer);
    this.#name = name;
    this.#writer = writer;
    await this.#prune(name);
  }

  async #saveAgain(talk: Talk): Promise<void> {
    try {
      await this.#save(talk);
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== "locked") throw error;
      this.#forget();
      await this.#saveAsNew(talk);
      tell(
        `sluice: ${printableLine(error.message)}\n  This conversation is saved as ${this.#name} from now on.`,
      );
    }
  }

  /** All was taken back: only the name stays, for what is said next. */
  async #clear(talk: Talk): Promise<void> {
    // Fails where another process has written the file since, which is not ours to delete then.
    await this.#save(talk, this.#writer, { ids: [], blocks: [] });
    await removeSession({ path: this.#writer!.path });
    this.#hasSaved = false;
  }

  async #save(
    talk: Talk,
    writer = this.#writer!,
    { ids, blocks }: Snapshot = talk.session.snapshot(),
  ): Promise<void> {
    const content = this.#content(talk, ids);
    try {
      await writer.save(content, blocks);
      this.#trouble.over();
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== "no-space" || blocks.length === 0) throw error;
      await writer.save(content, []);
      this.#trouble.textOnly(error);
    }
    this.#hasSaved = true;
  }

  #content(talk: Talk, ids: readonly number[]): SessionContent {
    return {
      created: this.#created.toISOString(),
      changed: new Date().toISOString(),
      model: sessionModel(talk.model),
      messages: talk.conversation.allMessages(),
      settings: savedSettings(talk),
      ids,
    };
  }

  async #prune(name: string): Promise<void> {
    const { removed, shortened } = await pruneSessions(this.folder, name);
    if (removed.length > 0)
      tell(`sluice: 50 conversations without a name are kept: ${removed.join(", ")} is gone`);
    if (shortened.length > 0)
      tell(
        `sluice: saved conversations without a name exceed 2 GB: ${shortened.join(", ")} keeps only its text`,
      );
  }
}

/** What a save would hold, but for the KV cache, which follows from it. */
function stateOf(talk: Talk): string {
  return JSON.stringify([talk.conversation.allMessages(), savedSettings(talk)]);
}

function savedSettings(talk: Talk): SessionSettings {
  const { forgotten } = talk.conversation;
  return { ...settingsOf(talk), ...(forgotten > 0 && { forgotten }) };
}

/** @returns why the KV cache could not be restored; the session is empty then */
async function restoreKv(talk: Talk, saved: SavedSession): Promise<string | undefined> {
  const { head } = saved;
  talk.session.reset();
  const problem = mismatch(head.model, sessionModel(talk.model));
  if (problem !== undefined) return problem;
  if (saved.condition === "damaged") return "the file is damaged";
  if (!saved.hasKv) return head.ids.length === 0 ? undefined : "it was given up to save room";
  try {
    await talk.session.restore(head.ids, (target, index) => saved.readBlock(target, index));
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code === "aborted") throw error;
    return error.message;
  }
}

function loadedLines(
  name: string,
  { head, condition, begins }: SavedSession,
  problem: string | undefined,
): string[] {
  const { messages, ids, changed } = head;
  const said = `${printableLine(name)}: ${messages.length} messages, last saved ${localTime(new Date(changed))}`;
  const kv =
    problem === undefined
      ? `Nothing of it has to be computed again: ${ids.length} tokens are in the KV cache.`
      : `Its KV cache is computed again with the next question, for ${problem}.`;
  const start =
    "The first bytes of its file are damaged: the rest could be read, and the next save mends them.";
  const damage = {
    sound: begins ? [] : [start],
    older: ["Its last save is damaged: this is the one before."],
    damaged: ["Its file is damaged: some of the text may be wrong."],
  }[condition];
  return [said, ...damage, kv];
}
