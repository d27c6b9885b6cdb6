/** Errors of the operating system, told in the user's words. */
import { SluiceError } from "../errors.ts";

const FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than allowed",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is a file, not a folder",
  EEXIST: "a file of that name is in the way",
  ENOENT: "no such file or folder",
  EISDIR: "it is a folder",
  EIO: "the disk reports an error",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "the name is too long",
  EBUSY: "it is in use",
  EMFILE: "too many open files",
  ENFILE: "too many open files on this machine",
};
/** What to do about a limit of the process or the machine; choosing another place does not help there. */
const LIMITS: Readonly<Record<string, string>> = {
  EMFILE: "Raise the limit on open files: `ulimit -n 4096`.",
  ENFILE: "Close other programs, or raise the machine's limit on open files.",
  EFBIG:
    "Raise the limit on the size of files (`ulimit -f unlimited`), or use a file system that takes large ones.",
};
const CHOOSE_FOLDER = "Choose another folder with --cache-dir.";

/** The code of a system error (`ENOENT`), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

/** Why the operating system refused, in words. */
export function reasonOf(error: unknown): string {
  return REASONS[errorCode(error) ?? ""] ?? (error instanceof Error ? error.message : String(error));
}

/** What to do about an error that is a limit of the process or the machine, otherwise undefined. */
export function limitAdvice(error: unknown): string | undefined {
  return LIMITS[errorCode(error) ?? ""];
}

/** Whether an error is the operating system's. */
export function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

/** Whether an error says that there is no room to write. */
export function isFull(error: unknown): boolean {
  return FULL.has(errorCode(error) ?? "");
}

/**
 * A system error as a SluiceError (`no-space` or `io`); an error that is one already is returned as it is.
 *
 * @param action what was tried, to be read after "cannot"
 * @param next what the user can do about it, unless it is a limit that was hit; default: choose another cache folder
 */
export function ioError(error: unknown, action: string, path: string, next = CHOOSE_FOLDER): SluiceError {
  if (error instanceof SluiceError) return error;
  const code = isFull(error) ? "no-space" : "io";
  return new SluiceError(code, `cannot ${action} ${path}: ${reasonOf(error)}`, {
    next: limitAdvice(error) ?? next,
    cause: error,
  });
}
