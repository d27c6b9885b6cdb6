import { statSync } from "node:fs";
import { textFor } from "../note.ts";
import { endOfLinks } from "../output-target.ts";
import { writeOutput } from "../write-output.ts";
import { type Output, OutputFile } from "./output-file.ts";
import type { OutputFormat } from "./result-line.ts";

/**
 * Give results a place to go to: a file that can be gone on with, or, where it is stdout (`-`), a pipe or a device, just
 * there.
 *
 * @param use writes them; says whether all are there now
 */
export async function withOutput(
  path: string,
  options: { readonly format: OutputFormat; readonly head: string; readonly force: boolean },
  use: (output: Output) => Promise<boolean>,
): Promise<void> {
  if (!isFile(path)) {
    await writeOutput(
      path,
      async (write) => {
        const put = (text: string) => write(Buffer.from(path === "-" ? textFor(process.stdout, text) : text));
        if (options.head !== "") await put(options.head);
        const done = new Map<number, string>();
        await use({ done, resumable: false, write: (_index, _key, text) => put(text) });
      },
      "-o",
    );
    return;
  }
  const file = await OutputFile.open(path, options);
  try {
    if (await use(file)) file.sort();
  } finally {
    file.close();
  }
}

/** Whether a path is that of a file, be it one that is not there yet. */
export function isFile(path: string): boolean {
  return path !== "-" && (statSync(endOfLinks(path), { throwIfNoEntry: false })?.isFile() ?? true);
}
