import type { EditBuffer } from "./edit-buffer.ts";

/** A key as Node's readline decodes it from what a terminal sends. */
export interface Key {
  readonly sequence?: string;
  readonly name?: string | undefined;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
}

/** The keys of Emacs and bash, and those with arrows on them. */
const KEYS: Readonly<Record<string, (buffer: EditBuffer) => void>> = {
  left: (buffer) => buffer.left(),
  "ctrl+b": (buffer) => buffer.left(),
  right: (buffer) => buffer.right(),
  "ctrl+f": (buffer) => buffer.right(),
  "ctrl+left": (buffer) => buffer.wordLeft(),
  "meta+left": (buffer) => buffer.wordLeft(),
  "meta+b": (buffer) => buffer.wordLeft(),
  "ctrl+right": (buffer) => buffer.wordRight(),
  "meta+right": (buffer) => buffer.wordRight(),
  "meta+f": (buffer) => buffer.wordRight(),
  home: (buffer) => buffer.home(),
  "ctrl+a": (buffer) => buffer.home(),
  end: (buffer) => buffer.end(),
  "ctrl+e": (buffer) => buffer.end(),
  backspace: (buffer) => buffer.backspace(),
  "ctrl+h": (buffer) => buffer.backspace(),
  delete: (buffer) => buffer.delete(),
  "ctrl+d": (buffer) => buffer.delete(),
  "ctrl+w": (buffer) => buffer.killWordLeft(),
  "meta+backspace": (buffer) => buffer.killWordLeft(),
  "ctrl+backspace": (buffer) => buffer.killWordLeft(),
  "meta+d": (buffer) => buffer.killWordRight(),
  "ctrl+u": (buffer) => buffer.killToStart(),
  "ctrl+k": (buffer) => buffer.killToEnd(),
  "ctrl+y": (buffer) => buffer.yank(),
  "ctrl+t": (buffer) => buffer.transpose(),
  "meta+return": (buffer) => buffer.insert("\n"),
  "meta+enter": (buffer) => buffer.insert("\n"),
};

/** A key by name, as `ctrl+a`. */
export function keyName({ ctrl = false, meta = false, name = "" }: Key): string {
  return `${ctrl ? "ctrl+" : ""}${meta ? "meta+" : ""}${name}`;
}

/** Do what a key does to a text; false where it does nothing. */
export function editByKey(buffer: EditBuffer, typed: string | undefined, key: Key): boolean {
  const edit = KEYS[keyName(key)];
  if (edit) edit(buffer);
  else if (typed === undefined || key.ctrl || key.meta || /^\p{Cc}/u.test(typed)) return false;
  else buffer.insert(typed);
  return true;
}
