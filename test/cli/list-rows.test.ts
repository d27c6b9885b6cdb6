import { expect, it } from "vitest";
import { listRows } from "../../src/cli/list-rows.ts";

const LIST = [["/a", "first"], [], ["/long NAME", "second"]] as const;

it("puts what a thing is beside its name, or below it in a narrow window", () => {
  const wide = ["/a          first", "", "/long NAME  second"];
  expect(listRows(LIST, { isTTY: true, columns: 80 })).toEqual(wide);
  expect(listRows(LIST, { columns: 40 })).toEqual(wide);
  expect(listRows(LIST, { isTTY: true, columns: 40 })).toEqual([
    "/a",
    "    first",
    "",
    "/long NAME",
    "    second",
  ]);
});
