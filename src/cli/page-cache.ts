import { spawn } from "node:child_process";
import { SluiceError } from "../errors.ts";

/**
 * Take files out of the page cache. Only Linux can be told to without privileges, and only by a C program: dd.
 *
 * @throws SluiceError `unsupported` where that cannot be done
 */
export async function dropFromPageCache(paths: readonly string[]): Promise<void> {
  if (process.platform !== "linux") throw unavailable(`${process.platform} has no way to do it`);
  await Promise.all(paths.map(drop));
}

async function drop(path: string): Promise<void> {
  const dd = spawn("dd", [`if=${path}`, "iflag=nocache", "count=0", "status=none"], { stdio: "ignore" });
  const code = await new Promise((resolve) => {
    dd.on("error", resolve);
    dd.on("close", resolve);
  });
  if (code !== 0) throw unavailable(`dd failed with ${path}`);
}

function unavailable(reason: string): SluiceError {
  return new SluiceError("unsupported", `files cannot be taken out of the page cache: ${reason}`, {
    next: "Leave out --cold.",
  });
}
