import { Command } from "commander";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { type CacheEntry, listCaches, removeCache, removePrompts } from "../store/list.ts";
import { type Damage, verifyCache } from "../store/verify.ts";
import { formatTable } from "../timing/table.ts";
import { addCacheDirOption, resolveRoot } from "./cache-options.ts";
import { confirm } from "./confirm.ts";
import { findNamed } from "./find-named.ts";
import { interruptSignal } from "./interrupt.ts";
import { print } from "./note.ts";
import { printableJson } from "./printable.ts";
import { ProgressBars } from "./progress-bars.ts";

interface Flags {
  cacheDir?: string;
  json?: boolean;
  all?: boolean;
  yes?: boolean;
  prompts?: boolean;
}

/** What `verify` passes over where it is not named. */
const UNCHECKED: readonly CacheEntry["state"][] = ["unfinished", "busy", "outdated"];

const NAMES = "names, beginnings of names, or model files";

export function cacheCommand(): Command {
  const command = new Command("cache").description("Look after unpacked models.");
  const ls = command.command("ls").description("List unpacked models.").option("--json", "as a JSON array");
  addCacheDirOption(ls).action((flags: Flags) => {
    print(list(listCaches(resolveRoot(flags.cacheDir)), flags.json ?? false));
  });

  const path = command.command("path").description("Print the folder of unpacked models.");
  addCacheDirOption(path).action((flags: Flags) => {
    print(`${resolveRoot(flags.cacheDir)}\n`);
  });

  const verify = command
    .command("verify")
    .description("Read every byte of unpacked models and compare the checksums.")
    .argument("[name...]", `${NAMES}; default: all`);
  addCacheDirOption(verify).action((names: string[], flags: Flags) => verifyAll(names, flags));

  const rm = command
    .command("rm")
    .description("Delete unpacked models.")
    .argument("[name...]", NAMES)
    .option("--all", "all of them")
    .option("--prompts", "only the beginnings of prompts that are kept with them")
    .option("-y, --yes", "do not ask");
  addCacheDirOption(rm).action((names: string[], flags: Flags) => remove(names, flags, rm));
  return command;
}

function list(entries: readonly CacheEntry[], json: boolean): string {
  if (json) return `${printableJson(entries.map(jsonEntry), 0)}\n`;
  if (entries.length === 0) return "";
  const prompts = entries.some(({ promptBytes }) => promptBytes > 0);
  const rows = entries.map(({ name, state, bytes, promptBytes, modified, manifest }) => [
    name,
    manifest?.dtype ?? "",
    formatBytes(bytes),
    manifest ? `${manifest.layers.length}` : "",
    ...(prompts ? [promptBytes > 0 ? formatBytes(promptBytes) : ""] : []),
    modified.toISOString().slice(0, 10),
    state === "finished" ? "" : state,
  ]);
  const head = ["name", "dtype", "size", "layers", ...(prompts ? ["prompts"] : []), "date", ""];
  return `${formatTable([head, ...rows]).join("\n")}\n`;
}

function jsonEntry({ manifest, ...entry }: CacheEntry): object {
  if (!manifest) return entry;
  const { dtype, compression, source, layers, model } = manifest;
  return { ...entry, model: model.name, dtype, compression, layers: layers.length, source };
}

async function verifyAll(names: readonly string[], flags: Flags): Promise<void> {
  const entries = findNamed(resolveRoot(flags.cacheDir), names);
  let bad = 0;
  for (const entry of entries) {
    if (names.length === 0 && UNCHECKED.includes(entry.state)) {
      print(`${entry.name}  ${entry.state}, not checked\n`);
      continue;
    }
    const problems = await problemsOf(entry);
    if (problems.length > 0) bad++;
    const lines = problems.length > 0 ? problems : [`ok, ${formatBytes(entry.bytes)}`];
    print(lines.map((line) => `${entry.name}  ${line}\n`).join(""));
  }
  if (bad === 0) return;
  throw new SluiceError("bad-cache", `${bad} of ${entries.length} unpacked models are damaged`, {
    next: "`sluice unpack --force MODEL` makes one again.",
  });
}

async function problemsOf(entry: CacheEntry): Promise<string[]> {
  const bars = new ProgressBars();
  const bar = bars.add(entry.name, entry.bytes);
  try {
    const { damages } = await verifyCache(entry.folder, {
      signal: interruptSignal,
      onProgress: ({ doneBytes }) => bar.update(doneBytes),
    });
    return damages.map(describeDamage);
  } catch (error) {
    if (error instanceof SluiceError && error.code === "bad-cache") return [error.message];
    throw error;
  } finally {
    bars.stop();
  }
}

function describeDamage({ file, chunk, offset, bytes, tensors }: Damage): string {
  const where = chunk === undefined ? "" : `, chunk ${chunk} (bytes ${offset} to ${offset + bytes - 1})`;
  const what = tensors.length > 0 ? `: holds ${tensors.join(", ")}` : "";
  return `${file}${where} is damaged${what}`;
}

async function remove(names: readonly string[], flags: Flags, command: Command): Promise<void> {
  if (names.length === 0 && !flags.all) command.error("error: name what to delete, or give --all");
  if (names.length > 0 && flags.all) command.error("error: give names or --all, not both");
  const named = findNamed(resolveRoot(flags.cacheDir), names);
  const entries = flags.prompts ? named.filter(({ promptBytes }) => promptBytes > 0) : named;
  if (entries.length === 0) return;
  const bytesOf = (entry: CacheEntry) => (flags.prompts ? 0 : entry.bytes) + entry.promptBytes;
  const bytes = formatBytes(entries.reduce((sum, entry) => sum + bytesOf(entry), 0));
  if (!flags.yes) {
    if (!process.stdin.isTTY) command.error("error: without a terminal to ask on, deleting needs --yes");
    const list = entries.map(({ name }) => `  ${name}\n`).join("");
    const what = flags.prompts ? "the prompts of these" : "these";
    if (!(await confirm(`${list}Delete ${what} (${bytes})? [y/N] `))) return;
  }
  for (const { folder, name } of entries) {
    if (flags.prompts) removePrompts(folder);
    else removeCache(folder);
    print(`Deleted ${flags.prompts ? "the prompts of " : ""}${name}\n`);
  }
}
