import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readFile, readText } from "../../src/cli/read-input.ts";
import { environment, MAIN, MODEL } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-input-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("reads a file, and says why it cannot", async () => {
  const path = join(folder, "text");
  writeFileSync(path, "Hello");
  expect((await readFile(path)).toString()).toBe("Hello");
  await expect(readFile(folder)).rejects.toThrow(/cannot read .*: it is a folder/);
  await expect(readFile(join(folder, "no"))).rejects.toThrow(/cannot read .*no: no such file/);
});

describe.runIf(process.platform === "linux")("what is no file", () => {
  const pipe = join(folder, "pipe");
  const messages = join(folder, "messages.json");
  beforeAll(() => {
    execFileSync("mkfifo", [pipe]);
    writeFileSync(messages, '[{"role": "user", "content": "Hi"}]');
  });

  it("a device that never ends is too long", async () => {
    await expect(readFile("/dev/zero")).rejects.toMatchObject({
      code: "bad-input",
      message: "/dev/zero is longer than 32.0 MB",
    });
    expect(await readFile("/dev/null")).toHaveLength(0);
  });

  it("a pipe is read to its end", async () => {
    const writer = spawn("sh", ["-c", 'sleep 0.1; printf one > "$0"', pipe]);
    expect((await readFile(pipe)).toString()).toBe("one");
    expect(writer.exitCode ?? 0).toBe(0);
  });

  it.each<readonly string[]>([
    ["run", MODEL, "-f", pipe],
    ["run", MODEL, "--messages", pipe],
    ["tokenize", MODEL, "-f", pipe],
    ["render", MODEL, "--messages", messages, "--chat-template-file", pipe],
  ])("a pipe into which nobody writes ends with SIGTERM: %s %s %s", async (...argv) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { env: environment() });
    const timer = setTimeout(() => child.kill("SIGTERM"), 1500);
    const code = await new Promise((resolve) => child.on("close", resolve));
    clearTimeout(timer);
    expect(code).toBe(143);
  });
});

it("text is UTF-8, without its mark; what is no text is refused in words", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-text-"));
  const path = join(folder, "text");
  const read = (bytes: Buffer) => {
    writeFileSync(path, bytes);
    return readText(path);
  };
  try {
    expect(await read(Buffer.from("\ufeff[1]\ufeff"))).toBe("[1]\ufeff");
    await expect(read(Buffer.from("\ufeff[1]", "utf16le"))).rejects.toMatchObject({
      code: "bad-input",
      message: `${path} is in UTF-16`,
      next: "Save it as UTF-8.",
    });
    await expect(read(Buffer.from("abc\0"))).rejects.toMatchObject({
      code: "bad-input",
      message: `${path} is no text: byte 4 is zero`,
    });
    rmSync(path);
    symlinkSync("text", path);
    await expect(readText(path)).rejects.toMatchObject({
      code: "io",
      message: `cannot read ${path}: its symbolic links lead in a circle`,
    });
    rmSync(path);
    writeFileSync(path, "");
    truncateSync(path, 110_000_000);
    await expect(readText(path, "Give another.")).rejects.toMatchObject({
      message: `${path} is longer than 32.0 MB`,
      next: "Give another.",
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
