import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { History } from "../../../src/cli/line-editor/history.ts";
import { appendHistory, readHistory } from "../../../src/cli/line-editor/history-file.ts";
import { HistorySearch } from "../../../src/cli/line-editor/history-search.ts";

describe("History", () => {
  it("goes back and forth, and keeps what was being typed", () => {
    const history = new History(["one", "two"]);
    expect(history.step(-1, "typed")).toBe("two");
    expect(history.step(-1, "two")).toBe("one");
    expect(history.step(-1, "one")).toBeUndefined();
    expect(history.step(1, "one")).toBe("two");
    expect(history.step(1, "two")).toBe("typed");
    expect(history.step(1, "typed")).toBeUndefined();
  });

  it("takes nothing twice in a row, and nothing empty", () => {
    const history = new History(["one"]);
    expect([history.add("one"), history.add(" "), history.add("two")]).toEqual([false, false, true]);
    expect(history.step(-1, "")).toBe("two");
  });

  it("finds the newest entry with a part, and older ones", () => {
    const history = new History(["a cat", "a dog", "the cat", "a cat"]);
    expect([0, 1, 2].map((skip) => history.search("cat", skip))).toEqual(["a cat", "the cat", undefined]);
  });
});

const folder = mkdtempSync(join(tmpdir(), "sluice-history-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("history file", () => {
  it("is made for the user alone, holds entries of several lines, and survives damage", () => {
    const path = join(folder, "state", "sluice", "history");
    expect(readHistory(path)).toEqual([]);
    appendHistory(path, "one\ntwo");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "state", "sluice")).mode & 0o777).toBe(0o700);
    chmodSync(path, 0o644);
    writeFileSync(path, `${readFileSync(path, "utf8")}broken\n{"a": 1}\n`);
    appendHistory(path, "日本 👩‍👧");
    expect(readHistory(path)).toEqual(["one\ntwo", "日本 👩‍👧"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("stays bounded, and keeps the newest", () => {
    const path = join(folder, "bounded");
    appendHistory(path, "x".repeat(70_000));
    expect(readHistory(path)).toEqual([]);
    for (let index = 0; index < 60; index++) appendHistory(path, `${index} ${"x".repeat(20_000)}`);
    expect(statSync(path).size).toBeLessThan(1_000_000);
    expect(readHistory(path).at(-1)).toMatch(/^59 /);
    for (let index = 0; index < 1200; index++) appendHistory(path, `${index}`);
    expect(readHistory(path)).toHaveLength(1000);
  });

  it("keeps the others where a line is far too long", () => {
    const path = join(folder, "overlong");
    appendHistory(path, "one");
    writeFileSync(path, `${readFileSync(path, "utf8")}"${"x".repeat(2_000_000)}"\n`);
    expect(readHistory(path)).toEqual(["one"]);
    appendHistory(path, "two");
    expect(readHistory(path)).toEqual(["one", "two"]);
    expect(statSync(path).size).toBeLessThan(100);
  });

  it.runIf(process.platform !== "win32")("is a regular file, or none", () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, "/dev/zero", folder]) {
      expect(() => readHistory(path)).toThrow(`${path} is no regular file`);
      expect(() => appendHistory(path, "one")).toThrow(`${path} is no regular file`);
    }
    writeFileSync(join(folder, "file"), "");
    const below = join(folder, "file", "history");
    expect(() => appendHistory(below, "one")).toThrow(`cannot write ${below}: `);
  });

  it("is not held up by a lock that was left behind", () => {
    const path = join(folder, "locked");
    writeFileSync(`${path}.lock`, "");
    appendHistory(path, "anyway");
    expect(readHistory(path)).toEqual(["anyway"]);
  });

  it("loses nothing when several chats write at once", async () => {
    const path = join(folder, "shared");
    const module = fileURLToPath(new URL("../../../dist/cli/line-editor/history-file.js", import.meta.url));
    const script = `import { appendHistory } from ${JSON.stringify(module)};
      for (let i = 0; i < 100; i++) appendHistory(process.argv[1], process.argv[2] + i);`;
    const run = (name: string) =>
      new Promise((resolve) =>
        spawn(process.execPath, ["--input-type=module", "-e", script, path, name]).on("close", resolve),
      );
    expect(await Promise.all(["a", "b", "c"].map(run))).toEqual([0, 0, 0]);
    expect(new Set(readHistory(path)).size).toBe(300);
    expect(execFileSync("ls", [folder]).toString()).not.toContain("shared.lock");
  });
});

describe("HistorySearch", () => {
  const search = (...keys: string[]) => {
    const searching = new HistorySearch(new History(["a cat", "a dog", "the cat"]));
    const outcomes = keys.map((key) => searching.key(key.length === 1 ? key : undefined, key));
    return [searching.found, outcomes.at(-1), searching.prompt];
  };

  it("finds while it is typed, goes back, and stays at the oldest find", () => {
    expect(search("c", "a")).toEqual(["the cat", "searching", "(search: ca) "]);
    expect(search("c", "a", "ctrl+r", "ctrl+r")[0]).toBe("a cat");
    expect(search("d", "x", "backspace")[0]).toBe("a dog");
    expect(search("ctrl+r")[0]).toBeUndefined();
    expect(search("C", "A")).toEqual(["the cat", "searching", "(search: CA) "]);
    expect(search("c", "x")).toEqual([undefined, "searching", "(failed search: cx) "]);
  });

  it("ends with what was found, or without", () => {
    expect(search("c", "return")[1]).toBe("taken");
    expect(search("c", "ctrl+c")[1]).toBe("given up");
  });
});
