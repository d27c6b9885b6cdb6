/**
 * Two things that only the start of a process decides, so that one that is about to stream a large model starts itself
 * once more: huge pages for the ring that weights stream through, for which the C library must ask (reads into them take
 * a third to half of the time), and heaps that do not spread out (35 MB less). `SLUICE_NO_RESPAWN=1` turns it off.
 */
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { constants } from "node:os";
import { parsePartName } from "../gguf/split-names.ts";
import { isStoreName } from "../models-on-disk/find-model.ts";

/** Huge pages; and one heap for all threads, for none of them allocates while it computes. */
const TUNABLES = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1";
/** Young objects are collected after one megabyte, not sixteen. */
const NODE_FLAGS = ["--max-semi-space-size=1"];
const STREAMING = ["run", "chat", "batch", "watch", "logits", "lens", "bench", "plan"];
/** Below this a model is read from the page cache, where huge pages gain nothing, and there is memory. */
const LARGE_BYTES = 256 * 1024 * 1024;
/** Set in the second process. */
const SECOND = "SLUICE_SECOND";
/** Set in the second process where the first one stands behind it. */
const RELAYED = "SLUICE_RELAYED";

/** Whether this process gets its signals twice: from the terminal and from the process before it. */
export const signalsAreRelayed = process.env[RELAYED] !== undefined;

/** Start again where that helps. @returns the exit code of the second process, if there was one */
export async function startAgain(argv: readonly string[]): Promise<number | undefined> {
  if (!isWorthIt(argv)) return undefined;
  const tunables = process.env["GLIBC_TUNABLES"];
  const env = {
    ...process.env,
    GLIBC_TUNABLES: tunables ? `${tunables}:${TUNABLES}` : TUNABLES,
    [SECOND]: "1",
  };
  const args = [...NODE_FLAGS, ...process.execArgv, ...process.argv.slice(1)];
  // Newer Node.js puts the second process in place of the first.
  const execve = (process as { execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never })
    .execve;
  if (execve !== undefined) execve.call(process, process.execPath, [process.execPath, ...args], env);
  return relay(args, { ...env, [RELAYED]: "1" });
}

function isWorthIt(argv: readonly string[]): boolean {
  const { env, platform } = process;
  if (platform !== "linux" || env["SLUICE_NO_RESPAWN"] || env[SECOND]) return false;
  return argv.some((word) => STREAMING.includes(word)) && argv.some(isLarge);
}

/** A large file, a part of a split one, a name of a store, or a folder, which may be a cache. */
function isLarge(word: string): boolean {
  if (isStoreName(word)) return true;
  try {
    const found = statSync(word);
    return found.isDirectory() || found.size >= LARGE_BYTES || parsePartName(word) !== undefined;
  } catch {
    // Most words are no paths, and some are too long to be one.
    return false;
  }
}

/** Run the second process, pass signals on to it, and end as it ends. */
function relay(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // The channel tells the second process when this one dies.
  const child = spawn(process.execPath, args, { env, stdio: ["inherit", "inherit", "inherit", "ipc"] });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)
    process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
}

/** In the second process: leave when the first one is gone. */
export function followFirstProcess(): void {
  if (!signalsAreRelayed) return;
  process.on("disconnect", () => process.exit(128 + constants.signals.SIGHUP));
  process.channel?.unref();
}
