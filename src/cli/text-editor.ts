import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SluiceError } from "../errors.ts";

/** The user's editor, as the environment names it. */
export function editorCommand(): string | undefined {
  return process.env["VISUAL"] || process.env["EDITOR"] || undefined;
}

/**
 * Let the user edit a text in a program of their own, which gets the terminal.
 *
 * @param editor a command line; the name of the file goes behind it
 * @returns undefined where the editor failed, which is how editors say that all is to stay as it was
 * @throws SluiceError `io` where there is no such program
 */
export async function editText(editor: string, text: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-edit-"));
  const path = join(folder, "message.md");
  try {
    writeFileSync(path, `${text}\n`, { mode: 0o600 });
    const code = await runEditor(editor, path);
    if (code === 127) throw missing(editor);
    return code === 0 ? readFileSync(path, "utf8").replace(/\n+$/, "") : undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runEditor(editor: string, path: string): Promise<number | null> {
  const child =
    process.platform === "win32"
      ? spawn(`${editor} "${path}"`, { stdio: "inherit", shell: true })
      : spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", () => reject(missing(editor)));
    child.on("close", resolve);
  });
}

function missing(editor: string): SluiceError {
  return new SluiceError("io", `the editor ${editor} could not be started`, {
    next: "Set EDITOR to one that there is, or to nothing to edit in the line.",
  });
}
