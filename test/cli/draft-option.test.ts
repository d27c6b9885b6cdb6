import { describe, expect, it } from "vitest";
import { parseDrafts } from "../../src/cli/draft-option.ts";

describe("--draft", () => {
  it("takes words, models and none", () => {
    expect(parseDrafts("lookup")).toEqual(["lookup"]);
    expect(parseDrafts("lookup, shadow")).toEqual(["lookup", "shadow"]);
    expect(parseDrafts("model:hf:org/small:q8_0,lookup")).toEqual([{ model: "hf:org/small:q8_0" }, "lookup"]);
    expect(parseDrafts("none")).toEqual([]);
  });

  it.each(["", "lookp", "lookup,", "model:", "none,lookup", "Shadow"])("turns down %j", (text) => {
    expect(() => parseDrafts(text)).toThrow("It must be lookup, shadow, model:MODEL, or none.");
  });
});
