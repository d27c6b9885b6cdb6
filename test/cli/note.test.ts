import { expect, it } from "vitest";
import { note, print } from "../../src/cli/note.ts";

function written(
  isTTY: boolean,
  put: (stream: { isTTY: boolean; write(text: string): void }) => void,
): string {
  let all = "";
  put({ isTTY, write: (text) => (all += text) });
  return all;
}

it("prints on a terminal what cannot drive it, and elsewhere the text as it is", () => {
  const text = "a\x1b[2J\tb\r\n\u202e";
  expect(written(true, (stream) => print(text, stream))).toBe("a\\u{1b}[2J\tb\\u{d}\n\\u{202e}");
  expect(written(false, (stream) => print(text, stream))).toBe(text);
  expect(written(true, (stream) => note("\x1b]0;x\x07", stream))).toBe("\\u{1b}]0;x\\u{7}\n");
});
