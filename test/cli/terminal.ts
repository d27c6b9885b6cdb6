import { execFile, execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { environment, MAIN } from "./spawn.ts";

/** Whether commands can be run on a pseudo terminal here. */
export const HAS_TERMINAL =
  spawnSync("python3", ["-c", "import pty, os; os.waitstatus_to_exitcode"]).status === 0;

/** Wait for a text, make the terminal as wide as it says, type. */
export type Step = readonly [wait: string, send: string, columns?: number];

export interface TerminalOptions {
  readonly hangup?: boolean;
  readonly signal?: number;
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Run the built command on a pseudo terminal of 80 columns, as a user would.
 *
 * @returns all that was printed, and the same as text: without control sequences, and status lines
 */
export function onTerminal(argv: readonly string[], steps: readonly Step[], options: TerminalOptions = {}) {
  return outcome(execFileSync("python3", script(argv, steps, options), settings(options)).toString());
}

/** The same while this process goes on, so that it can be what the command talks to. */
export async function besideTerminal(
  argv: readonly string[],
  steps: readonly Step[],
  options: TerminalOptions = {},
) {
  const run = promisify(execFile);
  const { stdout } = await run("python3", script(argv, steps, options), settings(options));
  return outcome(stdout);
}

function script(
  argv: readonly string[],
  steps: readonly Step[],
  { hangup = false, signal = 0 }: TerminalOptions,
): string[] {
  const job = {
    argv: [process.execPath, MAIN, ...argv],
    steps: steps.map(([wait, send, columns]) => ({ wait, send, ...(columns && { size: [24, columns] }) })),
    hangup,
    signal,
    timeout: 50,
  };
  return [fileURLToPath(new URL("./terminal.py", import.meta.url)), JSON.stringify(job)];
}

function settings({ variables = {} }: TerminalOptions) {
  return { env: environment(variables), encoding: "utf8", maxBuffer: 1 << 24 } as const;
}

function outcome(result: string) {
  const { output, text, code, missed, cooked } = JSON.parse(result);
  expect(missed, output).toEqual([]);
  return {
    output: output as string,
    text: text as string,
    code: code as number | null,
    cooked: cooked as boolean,
  };
}
