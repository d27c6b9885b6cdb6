import { join } from "node:path";
import { stateFolder } from "./state-folder.ts";

/** The folder of saved conversations on this machine. */
export function resolveSessions(): string {
  return join(stateFolder(), "sessions");
}
