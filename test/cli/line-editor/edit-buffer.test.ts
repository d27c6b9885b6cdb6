import { expect, it } from "vitest";
import { EditBuffer } from "../../../src/cli/line-editor/edit-buffer.ts";
import { editByKey } from "../../../src/cli/line-editor/edit-keys.ts";

/** A buffer of the text before and after a `|`, which is the cursor. */
function at(marked: string): EditBuffer {
  const [before, after = ""] = marked.split("|");
  const buffer = new EditBuffer();
  buffer.set(after);
  buffer.home();
  while (buffer.before !== "") if (!buffer.up()) buffer.home();
  buffer.insert(before);
  return buffer;
}

const show = (buffer: EditBuffer) => `${buffer.before}|${buffer.text.slice(buffer.before.length)}`;

function press(marked: string, ...keys: string[]): string {
  const buffer = at(marked);
  for (const key of keys) {
    const [name, ...modifiers] = key.split("+").reverse();
    editByKey(buffer, undefined, {
      name,
      ctrl: modifiers.includes("ctrl"),
      meta: modifiers.includes("meta"),
    });
  }
  return show(buffer);
}

it.each([
  ["one two|", ["ctrl+w"], "one |"],
  ["one two.|", ["meta+b", "meta+b"], "|one two."],
  ["|one two", ["meta+f"], "one| two"],
  ["one| two", ["meta+d"], "one|"],
  ["one| two", ["ctrl+u"], "| two"],
  ["one| two", ["ctrl+k"], "one|"],
  ["one|\ntwo", ["ctrl+k"], "one|two"],
  ["one |two", ["ctrl+k", "ctrl+a", "ctrl+y"], "two|one "],
  ["a|b", ["ctrl+t"], "ba|"],
  ["ab|", ["ctrl+t"], "ba|"],
  ["one\ntw|o", ["home"], "one\n|two"],
  ["one\nt|wo\nx", ["end"], "one\ntwo|\nx"],
  ["a|b", ["meta+return"], "a\n|b"],
  ["a|b", ["delete"], "a|"],
  ["|", ["backspace", "delete", "left", "right", "ctrl+w", "ctrl+k", "ctrl+u", "ctrl+t"], "|"],
])("%j after %j is %j", (before, keys, after) => {
  expect(press(before, ...keys)).toBe(after);
});

it("moves over what is seen as one character", () => {
  expect(press("a👩‍👩‍👧|", "left")).toBe("a|👩‍👩‍👧");
  expect(press("e\u0301|", "backspace")).toBe("|");
  const buffer = at("🇯|");
  buffer.insert("🇵");
  buffer.left();
  expect(show(buffer)).toBe("|🇯🇵");
});

it("goes from line to line in its column, and says where there is no further one", () => {
  const buffer = at("long line\nab\nlonger li|ne");
  expect([buffer.up(), show(buffer)]).toEqual([true, "long line\nab|\nlonger line"]);
  expect([buffer.up(), show(buffer)]).toEqual([true, "lo|ng line\nab\nlonger line"]);
  expect(buffer.up()).toBe(false);
  expect([buffer.down(), show(buffer)]).toEqual([true, "long line\nab|\nlonger line"]);
  buffer.down();
  expect(buffer.down()).toBe(false);
});

it("takes pasted line ends and tabs, and no other control characters", () => {
  const buffer = new EditBuffer();
  buffer.insert("a\r\nb\rc\td\x1b[31m\x07\x00");
  expect(buffer.text).toBe("a\nb\nc\td[31m");
  expect(editByKey(buffer, "\x01", { name: "unknown" })).toBe(false);
});

it("takes a long text key by key: not all of it at every key", () => {
  const buffer = new EditBuffer();
  const start = performance.now();
  for (let index = 0; index < 100_000; index++) buffer.insert("é");
  expect(buffer.text.length).toBe(100_000);
  expect(performance.now() - start).toBeLessThan(15_000);
});
