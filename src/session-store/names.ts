/** Names of conversations, which are names of files too. */
import { randomBytes } from "node:crypto";
import { SluiceError } from "../errors.ts";

export const ENDING = ".session";
/** Of files that are being written: `<file>.<process id>.tmp`. */
export const TEMPORARY = /\.session\.\d+\.tmp$/;
/** Automatic names: `auto-20260131-235959-3f2a`. No other name begins so. */
const AUTOMATIC = /^auto-/i;
/** Most file systems end a name at 255 bytes; the ending, a process id and room are left. */
const MOST_BYTES = 200;
/** What Windows or Unix take for something else, control characters, and overrides of writing direction. */
const REFUSED = /[/\\<>:"|?*\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
/** Base names that Windows keeps for devices, whatever follows a dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * A name that a user gave, in Unicode's composed form: the same however it was typed.
 *
 * @throws SluiceError `bad-input` for one that cannot be the name of a file everywhere, or looks like sluice's own
 */
export function checkName(text: string): string {
  const name = text.trim().normalize("NFC");
  const problem = problemOf(name);
  if (problem === undefined) return name;
  throw new SluiceError("bad-input", `${JSON.stringify(text)} cannot be the name of a session: ${problem}`, {
    next: "Letters of any script, digits, spaces, dashes and dots in between are fine.",
  });
}

function problemOf(name: string): string | undefined {
  if (name === "") return "it is empty";
  const refused = REFUSED.exec(name)?.[0];
  if (refused !== undefined) return `it holds ${JSON.stringify(refused)}`;
  if (/^[.~-]/.test(name)) return `it begins with ${name[0]}`;
  if (name.endsWith(".")) return "it ends with a dot";
  if (DEVICE.test(name)) return "Windows keeps it for a device";
  if (AUTOMATIC.test(name)) return "names that begin with auto- are given by sluice";
  const bytes = Buffer.byteLength(name);
  if (bytes > MOST_BYTES) return `it has ${bytes} bytes, ${MOST_BYTES} at most`;
  return undefined;
}

/** A fresh name for a conversation that has none, by the time that it began (local, to the second). */
export function automaticName(begun: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${begun.getFullYear()}${two(begun.getMonth() + 1)}${two(begun.getDate())}`;
  const time = `${two(begun.getHours())}${two(begun.getMinutes())}${two(begun.getSeconds())}`;
  return `auto-${day}-${time}-${randomBytes(2).toString("hex")}`;
}

export function isAutomatic(name: string): boolean {
  return AUTOMATIC.test(name);
}

/** The name of the conversation in a file, or undefined for any other file. */
export function nameOfFile(file: string): string | undefined {
  return file.endsWith(ENDING) && file.length > ENDING.length ? file.slice(0, -ENDING.length) : undefined;
}
