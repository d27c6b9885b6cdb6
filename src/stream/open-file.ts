import { constants, openSync } from "node:fs";

/** Open a file for reads past the page cache; undefined where platform or file system have none. */
export function openDirect(path: string): number | undefined {
  // Absent on macOS and Windows, whatever the types say.
  const flag = constants.O_DIRECT as number | undefined;
  if (flag === undefined) return undefined;
  try {
    return openSync(path, constants.O_RDONLY | flag);
  } catch (error) {
    // tmpfs and some network file systems know no direct reads; a missing file is for others to report.
    if ((error as NodeJS.ErrnoException).code === "EINVAL") return undefined;
    throw error;
  }
}

export function openFile(path: string, direct: boolean): number {
  return (direct ? openDirect(path) : undefined) ?? openSync(path, "r");
}
