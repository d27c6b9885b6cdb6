import { homedir, userInfo } from "node:os";
import { sessionsFolder } from "../session-store/folder.ts";

/** The folder of saved conversations on this machine. */
export function resolveSessions(): string {
  return sessionsFolder({
    env: process.env,
    platform: process.platform,
    // An empty HOME is as good as none.
    home: homedir() || userInfo().homedir,
  });
}
