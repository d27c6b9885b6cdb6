import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { cacheRoot, findCheckout } from "../store/root.ts";

/** The option of every command that has to do with the cache. */
export function addCacheDirOption(command: Command): Command {
  return command.addOption(
    new Option("--cache-dir <dir>", "folder of unpacked models (default: see `sluice cache path`)"),
  );
}

/** The folder of all caches, by the option, the environment, the checkout (where it can be written) or the platform. */
export function resolveRoot(explicit: string | undefined): string {
  const checkout = findCheckout(fileURLToPath(import.meta.url));
  return cacheRoot({
    explicit,
    env: process.env,
    checkout: checkout !== undefined && isWritable(join(checkout, "cache")) ? checkout : undefined,
    platform: process.platform,
    // An empty HOME is as good as none.
    home: homedir() || userInfo().homedir,
  });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A fresh folder of the system's temporary directory that is gone when the process ends, however it ends. */
export function temporaryRoot(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
