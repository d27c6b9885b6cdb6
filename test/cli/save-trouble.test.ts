import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SaveTrouble } from "../../src/cli/save-trouble.ts";
import { SluiceError } from "../../src/errors.ts";
import { conversation } from "../session-store/conversation.mjs";
import { readAll } from "../session-store/fixture.ts";

let told: string[] = [];
let folder = "";
beforeEach(() => {
  told = [];
  folder = mkdtempSync(join(tmpdir(), "sluice-trouble-"));
  vi.stubEnv("TMPDIR", folder);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => told.push(`${text}`) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const full = new SluiceError("no-space", "cannot save in /x: the disk is full", {
  cause: Object.assign(new Error("no"), { code: "ENOSPC" }),
});
const refused = new SluiceError("io", "cannot save in /x: permission denied");
const { content } = conversation(2);
const rescued = (text: string | undefined) => /(\S+rescued\.session)/.exec(text ?? "")?.[1] ?? "";

test("is told once, when it changes, and when it is over", async () => {
  const trouble = new SaveTrouble("/sessions");
  expect(trouble.reminder()).toBeUndefined();
  await trouble.failed(full, content);
  await trouble.failed(full, content);
  expect(told).toHaveLength(1);
  const path = rescued(trouble.reminder());
  expect(trouble.reminder()).toBe(
    `sluice: this conversation is not saved: the disk is full; its text is in ${path}: move that into /sessions to resume it`,
  );
  expect((await readAll(path)).content).toEqual(content);
  await trouble.failed(refused, content);
  expect(told).toHaveLength(2);
  trouble.textOnly(full);
  expect(told).toHaveLength(3);
  expect(trouble.reminder()).toMatch(/is saved without its KV cache, .*: the disk is full$/);
  expect(existsSync(path)).toBe(false);
  trouble.over();
  expect(told[3]).toBe("The conversation is saved again, as a whole.\n");
  expect(trouble.reminder()).toBeUndefined();
  trouble.over();
  expect(told).toHaveLength(4);
});

test("what was kept stays when another conversation begins, which is told", async () => {
  const trouble = new SaveTrouble("/sessions");
  await trouble.failed(full, content);
  const path = rescued(trouble.reminder());
  trouble.leave();
  expect(told[1]).toContain(path);
  await trouble.failed(full, conversation(1).content);
  expect(rescued(trouble.reminder())).not.toBe(path);
  trouble.over();
  expect((await readAll(path)).content).toEqual(content);
});

test("where nothing can be kept at all, that is told", async () => {
  vi.stubEnv("TMPDIR", join(folder, "nowhere"));
  const trouble = new SaveTrouble("/sessions");
  await trouble.failed(full, content);
  expect(trouble.reminder()).toBe(
    "sluice: this conversation is not saved: the disk is full; copy what you want to keep",
  );
});
