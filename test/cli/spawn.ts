import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
export const MODEL = fileURLToPath(new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where what a test types and says is kept: not with what whoever runs it typed and said. */
const STATE = mkdtempSync(join(tmpdir(), "sluice-state-"));
afterAll(() => rmSync(STATE, { recursive: true, force: true }));

/** Environment of a test: no colours, terminal, cache or state of whoever runs it. */
export function environment(variables: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR && { TMPDIR }),
    TERM: "xterm",
    COLUMNS: "80",
    XDG_STATE_HOME: STATE,
    // Whether a prompt is computed or found must not depend on the tests before.
    SLUICE_PROMPT_CACHE: "0",
    ...variables,
  };
}

/** Run the built command to its end. `onStdout` gets what was printed so far, each time more comes. */
export function sluice(
  argv: readonly string[],
  {
    input = "",
    env = {},
    onStdout = () => {},
  }: {
    readonly input?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly onStdout?: (stdout: string, child: ReturnType<typeof spawn>) => void;
  } = {},
): Promise<Outcome & { readonly bytes: Buffer }> {
  const child = spawn(process.execPath, [MAIN, ...argv], { env: environment(env) });
  const chunks: Buffer[] = [];
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    chunks.push(chunk);
    onStdout(Buffer.concat(chunks).toString(), child);
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const bytes = Buffer.concat(chunks);
      resolve({ code, stdout: bytes.toString(), stderr, bytes });
    });
  });
}
