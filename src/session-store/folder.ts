/** Where conversations are kept. */
import { posix, win32 } from "node:path";

export interface StateFolderOptions {
  /** Environment variables; an empty one counts as absent. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As `process.platform`. */
  readonly platform: string;
  /** The user's home folder. */
  readonly home: string;
}

/**
 * The platform's folder for what a program wants to find again but nobody carries to another machine: a KV cache is of
 * use only beside the unpacked model that made it. Nothing is created or looked at.
 */
export function stateFolder({ env, platform, home }: StateFolderOptions): string {
  const path = platform === "win32" ? win32 : posix;
  if (platform === "win32")
    return path.join(env["LOCALAPPDATA"] || path.join(home, "AppData", "Local"), "sluice", "State");
  // The XDG base directory specification: a relative path is invalid and to be ignored.
  const xdg = env["XDG_STATE_HOME"];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, "sluice");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "sluice");
  return path.join(home, ".local", "state", "sluice");
}

/** The folder of saved conversations. */
export function sessionsFolder(options: StateFolderOptions): string {
  const path = options.platform === "win32" ? win32 : posix;
  return path.join(stateFolder(options), "sessions");
}
