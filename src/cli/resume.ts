import { SluiceError } from "../errors.ts";
import type { Head } from "../session-store/head.ts";
import { findSession, listSessions, type SessionEntry, sessionNames } from "../session-store/list.ts";
import { findCaches, isCacheFolder, openCache } from "../store/cache.ts";
import { DTYPES, type Dtype } from "../store/types.ts";
import { resolveRoot } from "./cache-options.ts";
import { commandName, withCommandName } from "./command-name.ts";
import { chooseCache, fileFingerprint, type UnpackFlags } from "./ensure-unpacked.ts";
import { BUNDLED_MODEL } from "./model-argument.ts";
import { printableLine } from "./printable.ts";
import { tell } from "./tell.ts";

/** A conversation to be taken up, and what to open for it. */
export interface Resumption {
  /** A model file, or the folder of an unpacked model. */
  readonly model: string;
  /** Absent where there is none. */
  readonly entry?: SessionEntry;
}

/** What to type in a shell to go on with a conversation. @param model as the user gave it, if so */
export function resumeCommand(name: string, model: string | undefined): string {
  const words = ["chat", ...(model === undefined ? [] : [model]), "--resume", name];
  return printableLine([commandName(), ...words.map(shellWord)].join(" "));
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * Find the conversation that `--resume` means, and its model.
 *
 * @param wanted name, or true for the last one: of this model, or of any where none is given
 * @throws SluiceError `bad-input` where there is no such conversation, or its model is not here; `bad-session`, `io`
 */
export async function findResumption(
  folder: string,
  wanted: string | true,
  given: string | undefined,
  flags: UnpackFlags,
): Promise<Resumption> {
  const entry = wanted === true ? await findLast(folder, given) : await findSession(folder, wanted);
  if (entry === undefined) {
    const others = given !== undefined && sessionNames(folder).length > 0;
    const advice = others ? withCommandName("\n  `sluice sessions ls` lists those with other models.") : "";
    tell(
      `sluice: there is no saved conversation ${others ? "with this model " : ""}to resume: a new one begins${advice}`,
    );
    return { model: given ?? BUNDLED_MODEL };
  }
  if (!entry.head)
    throw new SluiceError("bad-session", entry.problem!, { next: "`sluice sessions rm` deletes it." });
  return { model: modelFor(entry.head, entry.name, given, flags), entry };
}

async function findLast(folder: string, given: string | undefined): Promise<SessionEntry | undefined> {
  const entries = (await listSessions(folder)).filter(({ head }) => head !== undefined);
  if (given === undefined) return entries[0];
  const fingerprint = fingerprintOf(given);
  return entries.find(({ head }) => head!.model.fingerprint === fingerprint);
}

/** The unpacked model that a conversation was held with where it is here and nothing else is asked for. */
function modelFor(head: Head, name: string, given: string | undefined, flags: UnpackFlags): string {
  const { fingerprint } = head.model;
  if (given !== undefined && (isCacheFolder(given) || fileFingerprint(given) !== fingerprint)) return given;
  const caches = flags.tempCache ? [] : findCaches(resolveRoot(flags.cacheDir), fingerprint);
  const dtype = flags.dtype ?? knownDtype(head.model.dtype);
  const wanted = { ...flags, ...(dtype && { dtype }) };
  const model = chooseCache(caches, wanted)?.folder ?? given;
  if (model !== undefined) return model;
  if (fileFingerprint(BUNDLED_MODEL) === fingerprint) return BUNDLED_MODEL;
  throw new SluiceError(
    "bad-input",
    `${name} was held with ${head.model.source} (${head.model.name}), which is not unpacked as ${dtype ?? head.model.dtype} here`,
    { next: "Give the model file: `sluice chat MODEL --resume NAME`" },
  );
}

function knownDtype(dtype: string): Dtype | undefined {
  return DTYPES.find((known) => known === dtype);
}

function fingerprintOf(model: string): string {
  return isCacheFolder(model) ? openCache(model).manifest.source.fingerprint : fileFingerprint(model);
}
