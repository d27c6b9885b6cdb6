import { expect, it } from "vitest";
import { layOut } from "../../../src/cli/line-editor/layout.ts";
import { Painter } from "../../../src/cli/line-editor/painter.ts";

const PROMPT = { plain: "> ", shown: "P " };

function record() {
  const written: string[] = [];
  return { painter: new Painter((text) => written.push(text)), take: () => written.splice(0).join("") };
}

it("paints over what it painted, and leaves below it", () => {
  const { painter, take } = record();
  const lay = (before: string, text: string) => layOut(before, text, 20, ["> ", ". "]);
  painter.paint(lay("one\ntwo", "one\ntwo\nthree"), PROMPT);
  expect(take()).toBe("\r\x1b[JP one\r\n. two\r\n. three\x1b[1A\r\x1b[5C");
  painter.paint(lay("x", "x"), PROMPT);
  expect(take()).toBe("\x1b[1A\r\x1b[JP x\r\x1b[3C");
  painter.leave();
  expect(take()).toBe("\r\n");
});

it("finds its beginning again where rows are laid out anew in a narrower terminal", () => {
  const { painter, take } = record();
  painter.paint(layOut("a".repeat(50), "a".repeat(50), 40, ["> ", ". "]), PROMPT);
  take();
  // Rows of 39 and 13 columns: three and one in a terminal of 15.
  painter.resized(15);
  painter.erase();
  expect(take()).toBe("\x1b[3A\r\x1b[J");
});
