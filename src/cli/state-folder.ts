import { homedir, userInfo } from "node:os";
import { posix, win32 } from "node:path";

/**
 * Where sluice keeps what a user would miss: saved conversations, and the history of the chat. `XDG_STATE_HOME` (the XDG
 * base directory specification: a relative path is ignored), else the platform's place for it.
 */
export function stateFolder({
  env = process.env,
  platform = process.platform as string,
  home = homedir() || userInfo().homedir,
}: {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly platform?: string;
  readonly home?: string;
} = {}): string {
  const path = platform === "win32" ? win32 : posix;
  const xdg = env["XDG_STATE_HOME"];
  if (xdg && path.isAbsolute(xdg)) return path.join(xdg, "sluice");
  if (platform === "win32")
    return path.join(env["LOCALAPPDATA"] || path.join(home, "AppData", "Local"), "sluice", "State");
  if (platform === "darwin") return path.join(home, "Library", "Application Support", "sluice");
  return path.join(home, ".local", "state", "sluice");
}
