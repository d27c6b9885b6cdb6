import { extname } from "node:path";
import { Command, Option } from "commander";
import { SluiceError } from "../errors.ts";
import { formatBytes } from "../format-bytes.ts";
import { titleOf, toJson, toMarkdown } from "../session-store/export.ts";
import { findSession, listSessions, removeSession, type SessionEntry } from "../session-store/list.ts";
import { confirm } from "./confirm.ts";
import { note, print } from "./note.ts";
import { checkTarget } from "./output-target.ts";
import { printableJson, printableLine } from "./printable.ts";
import { resolveSessions } from "./session-options.ts";
import { sessionTable } from "./session-table.ts";
import { writeOutput } from "./write-output.ts";

const NAME = "name, or the beginning of one";

export function sessionsCommand(): Command {
  const command = new Command("sessions").description("Look after saved conversations.");
  command
    .command("ls")
    .description("List saved conversations, the last changed first.")
    .option("--json", "as a JSON array")
    .action(async (flags: { readonly json?: boolean }) => {
      print(list(await listSessions(resolveSessions()), flags.json ?? false));
    });

  command
    .command("path")
    .description("Print the folder of saved conversations.")
    .action(() => print(`${resolveSessions()}\n`));

  const rm = command
    .command("rm")
    .description("Delete saved conversations.")
    .argument("[name...]", "names, or beginnings of names")
    .option("--all", "all of them")
    .option("-y, --yes", "do not ask");
  rm.action((names: string[], flags: RemoveFlags) => remove(names, flags, rm));

  command
    .command("export")
    .description("Print a saved conversation as Markdown or JSON, or write it to a file.")
    .argument("<name>", NAME)
    .addOption(
      new Option("--format <format>", "markdown or json (default: json where FILE ends so)").choices([
        "markdown",
        "json",
      ]),
    )
    .option("-o, --out <file>", "file to write; - is stdout", "-")
    .action(exportOne);
  return command;
}

function list(entries: readonly SessionEntry[], json: boolean): string {
  if (json) return `${printableJson(entries.map(jsonEntry), 0)}\n`;
  return entries.length === 0 ? "" : `${sessionTable(entries, process.stdout.columns).join("\n")}\n`;
}

function jsonEntry({ head, ...entry }: SessionEntry): object {
  if (!head) return entry;
  const { model, messages, created, ids, blocks } = head;
  return {
    ...entry,
    created,
    model: { name: model.name, source: model.source, dtype: model.dtype, kv: model.kv.type },
    messages: messages.length,
    tokens: blocks.length > 0 ? ids.length : 0,
    title: titleOf(head),
  };
}

interface RemoveFlags {
  readonly all?: boolean;
  readonly yes?: boolean;
}

async function remove(names: readonly string[], flags: RemoveFlags, command: Command): Promise<void> {
  if (names.length === 0 && !flags.all) command.error("error: name what to delete, or give --all");
  if (names.length > 0 && flags.all) command.error("error: give names or --all, not both");
  const folder = resolveSessions();
  const entries = flags.all ? await listSessions(folder) : await findAll(folder, names);
  if (entries.length === 0) return;
  const bytes = formatBytes(entries.reduce((sum, entry) => sum + entry.bytes, 0));
  if (!flags.yes) {
    if (!process.stdin.isTTY) command.error("error: without a terminal to ask on, deleting needs --yes");
    const list = entries.map(({ name }) => `  ${printableLine(name)}\n`).join("");
    if (!(await confirm(`${list}Delete these (${bytes})? [y/N] `))) return;
  }
  for (const entry of entries) {
    await removeSession(entry);
    print(`Deleted ${printableLine(entry.name)}\n`);
  }
}

async function findAll(folder: string, names: readonly string[]): Promise<SessionEntry[]> {
  const found: SessionEntry[] = [];
  for (const name of names) {
    const entry = await findSession(folder, name);
    if (!found.some(({ path }) => path === entry.path)) found.push(entry);
  }
  return found;
}

interface ExportFlags {
  readonly format?: "markdown" | "json";
  readonly out: string;
}

async function exportOne(name: string, { format, out }: ExportFlags): Promise<void> {
  const { name: found, path, head, problem } = await findSession(resolveSessions(), name);
  if (!head) throw new SluiceError("bad-session", problem ?? `${path} cannot be read`);
  const json = format === "json" || (format === undefined && extname(out).toLowerCase() === ".json");
  const text = json ? `${printableJson(toJson(found, head))}\n` : toMarkdown(found, head);
  if (out === "-") return print(text);
  checkTarget(out, [path], "--out");
  await writeOutput(out, async (write) => write(Buffer.from(text)));
  note(`Written to ${printableLine(out)}.`);
}
