import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openGguf } from "../../src/gguf/open.ts";
import { GgufWriter } from "../../src/gguf/writer.ts";
import { tempFolder } from "./temp-folder.ts";

const folder = tempFolder();
const vector = { name: "v", type: "f32", shape: [4] };

describe("GgufWriter", () => {
  it("writes the bytes of the specification", () => {
    const path = join(folder, "exact.gguf");
    const writer = new GgufWriter(path, {
      metadata: [["k", { type: "array", items: "uint16", values: [7, 8] }]],
      tensors: [vector],
    });
    writer.write(new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
    writer.close();
    const hex = [
      "47475546 03000000 0100000000000000 0100000000000000",
      "0100000000000000 6b 09000000 02000000 0200000000000000 0700 0800",
      "0100000000000000 76 01000000 0400000000000000 00000000 0000000000000000",
      "00".repeat(10),
      "0000803f 00000040 00004040 00008040",
      "00".repeat(16),
    ];
    expect(readFileSync(path).toString("hex")).toBe(hex.join("").replaceAll(" ", ""));
  });

  it("takes arrays from generators, larger than its buffer", () => {
    const path = join(folder, "generated.gguf");
    function* words() {
      for (let i = 0; i < 200_000; i++) yield `word ${i}`;
    }
    new GgufWriter(path, {
      metadata: [["words", { type: "array", items: "string", values: words() }]],
      tensors: [],
    }).close();
    const gguf = openGguf(path);
    expect(gguf.metadata.get("words")).toMatchObject({ length: 200_000 });
    gguf.close();
  });

  it("lets nothing appear before it is complete, and leaves nothing when it fails", () => {
    const path = join(folder, "unfinished.gguf");
    const writer = new GgufWriter(path, { metadata: [], tensors: [vector] });
    writer.write(new Uint8Array(10));
    expect(existsSync(path)).toBe(false);
    expect(() => writer.write(new Uint8Array(7))).toThrow("7 bytes given for v, which lacks 6");
    expect(() => writer.close()).toThrow("v lacks 6 of 16 bytes");
    expect(() => new GgufWriter(path, { metadata: failing(), tensors: [] })).toThrow("no more");
    expect(() => new GgufWriter(path, { metadata: [], tensors: [{ ...vector, type: "q9" }] })).toThrow(
      "unknown type q9",
    );
    expect(() => new GgufWriter(path, { metadata: [], tensors: [{ ...vector, type: "q8_0" }] })).toThrow(
      "multiples of 32",
    );
    expect(readdirSync(folder).filter((name) => name.startsWith("unfinished"))).toEqual([]);
  });

  it("takes a name that nobody else has while it writes, and comes in the place of no folder", () => {
    const path = join(folder, "two.gguf");
    writeFileSync(`${path}.partial`, "somebody's");
    const writers = [1, 2].map(() => new GgufWriter(path, { metadata: [], tensors: [vector] }));
    for (const [index, writer] of writers.entries()) writer.write(new Uint8Array(16).fill(index));
    for (const writer of writers) writer.close();
    expect(readFileSync(path).indexOf(Buffer.alloc(16, 1))).toBeGreaterThan(0);
    expect(readFileSync(`${path}.partial`, "utf8")).toBe("somebody's");
    mkdirSync(join(folder, "two.d"));
    const writer = new GgufWriter(join(folder, "two.d"), { metadata: [], tensors: [] });
    expect(() => writer.close()).toThrow(/EISDIR|EEXIST|EPERM|ENOTEMPTY/);
    expect(
      readdirSync(folder)
        .filter((name) => name.startsWith("two"))
        .sort(),
    ).toEqual(["two.d", "two.gguf", "two.gguf.partial"]);
  });

  it("refuses bytes after the last tensor", () => {
    const writer = new GgufWriter(join(folder, "more.gguf"), { metadata: [], tensors: [vector] });
    writer.write(new Uint8Array(16));
    expect(() => writer.write(new Uint8Array(1))).toThrow("after the last tensor");
    writer.abort();
  });
});

function* failing() {
  yield ["first", { type: "bool", value: true }] as const;
  throw new Error("no more");
}
