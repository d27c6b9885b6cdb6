/** Files that appear whole or not at all, whatever happens in between. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { TEMPORARY } from "./names.ts";

/**
 * Write a file beside its place, make it durable, and move it there.
 *
 * @throws the operating system's error; nothing is left behind then
 */
export function writeFileAtomic(path: string, bytes: Uint8Array): void {
  const temporary = path + TEMPORARY;
  try {
    writeFileSync(temporary, bytes, { flush: true });
    renameDurably(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Rename a file or folder so that the new name survives a crash of the machine. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncFolder(dirname(to));
}

/** Make the names in a folder durable, where the platform can. */
export function syncFolder(folder: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, "r");
    fsyncSync(descriptor);
  } catch {
    // Windows opens no folders, and some network file systems sync none: names are then as durable as they get.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
