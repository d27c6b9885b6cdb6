import { appendFileSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileLayout, type Section } from "../../src/gguf/layout.ts";
import { openGguf } from "../../src/gguf/open.ts";
import { writeSmallFile } from "./small-file.ts";
import { splitModel } from "./split-files.ts";
import { tempFolder } from "./temp-folder.ts";

const WHOLE = new URL("../../models/tiny-chat-q8_0.gguf", import.meta.url).pathname;
const root = tempFolder();

function layout(path: string): { parts: Section[][]; bytes: number[]; tensors: number } {
  const gguf = openGguf(path);
  try {
    return {
      parts: fileLayout(gguf),
      bytes: gguf.parts.map(({ bytes }) => bytes),
      tensors: gguf.tensors.size,
    };
  } finally {
    gguf.close();
  }
}

describe("the layout of a file", () => {
  const small = join(root, "small.gguf");
  writeSmallFile(small);
  const longer = join(root, "longer.gguf");
  copyFileSync(small, longer);
  appendFileSync(longer, Buffer.alloc(1000));
  const bare = join(root, "bare.gguf");
  writeSmallFile(bare, { tensors: [] });
  const [part] = splitModel(WHOLE, root, "split", [0, 40, 0]);

  it.each([WHOLE, small, longer, bare, part])("covers every byte once: %s", (path) => {
    const { parts, bytes, tensors } = layout(path);
    for (const [index, sections] of parts.entries()) {
      let end = 0;
      for (const section of sections) {
        expect(section.offset).toBe(end);
        end += section.bytes;
      }
      expect(end).toBe(bytes[index]);
      expect(sections.slice(0, 3).map(({ kind }) => kind)).toEqual(["head", "metadata", "table"]);
    }
    expect(parts.flat().filter(({ kind }) => kind === "tensor")).toHaveLength(tensors);
  });

  it("knows gaps for alignment from bytes that belong to nothing", () => {
    const kinds = (path: string) => layout(path).parts[0].map(({ kind }) => kind);
    expect(kinds(small).slice(3)).toEqual(["padding", "tensor", "padding", "tensor", "padding", "tensor"]);
    expect(kinds(longer).at(-1)).toBe("rest");
    expect(layout(longer).parts[0].at(-1)!.bytes).toBe(1000);
  });
});
