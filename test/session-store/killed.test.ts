import { execFileSync, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { SavedSession } from "../../src/session-store/saved-session.ts";
import { seeded } from "../random.ts";
import { expectTurns, readAll, saveTurns, sessionFolder } from "./fixture.ts";

const EVERY_DEATH = fileURLToPath(new URL("every-death.mjs", import.meta.url));
const CHILD = fileURLToPath(new URL("save-child.mjs", import.meta.url));
const folder = sessionFolder();

test("a save may die before or within any of its operations", async () => {
  const roots = join(folder, "deaths");
  const turns = 5;
  const counts: number[] = JSON.parse(`${execFileSync(process.execPath, [EVERY_DEATH, roots, `${turns}`])}`);
  expect(counts.length).toBeGreaterThan(25);
  for (const [death, saved] of counts.entries()) {
    const path = join(roots, `${death}`, "chat.session");
    if (saved === 0 && !existsSync(path)) continue;
    const { content } = await readAll(path);
    const there = content.messages.length / 2;
    // The save that died may have got to its end all the same.
    expect([saved, saved + 1], `death ${death}`).toContain(there);
    await expectTurns(path, there, `death ${death}`);
  }
});

test("a save may be cut anywhere", async () => {
  const path = join(folder, "whole.session");
  const writer = await saveTurns(path, 2);
  const before = statSync(path).size;
  expect(writer.path).toBe(path);
  await saveTurns(join(folder, "three.session"), 3);
  const whole = join(folder, "three.session");
  const { size } = statSync(whole);
  const cut = join(folder, "cut.session");
  for (let length = before; length < size; length += 197) {
    copyFileSync(whole, cut);
    truncateSync(cut, length);
    await expectTurns(cut, 2, `cut to ${length} of ${size}`);
  }
});

test("killed again and again at any moment, it loses nothing that was saved", async () => {
  const path = join(folder, "killed.session");
  const random = seeded(2);
  let saved = 0;
  let kills = 0;
  for (let run = 0; run < 8; run++) {
    const child = spawn(process.execPath, [CHILD, path, `${saved + 1}`, "100000", "3000"]);
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), 60 * random()));
    const signal = await new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)));
    if (signal === "SIGKILL") kills++;
    const told = Number(out.trim().split("\n").at(-1));
    expect(told, out).toBeGreaterThan(saved);
    const session = await SavedSession.open(path);
    saved = session.head.messages.length / 2;
    await session.close();
    expect(saved - told).toBeGreaterThanOrEqual(0);
    expect(saved - told).toBeLessThanOrEqual(1);
    await expectTurns(path, saved);
  }
  expect(kills).toBe(8);
});

test.runIf(process.platform === "linux")("a disk that becomes full leaves the last save", async () => {
  const path = join(folder, "full", "chat.session");
  const limited = (kilobytes: number, first: number) => {
    const command = `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$0" "$@"`;
    const argv = ["-c", command, process.execPath, CHILD, path, `${first}`, "1000", "3000"];
    const lines = spawnSync("bash", argv, { encoding: "utf8" }).stdout.split("\n");
    return { told: JSON.parse(lines.pop()!), saved: lines.length };
  };
  const none = limited(1, 1);
  expect(none).toMatchObject({
    saved: 0,
    told: { code: "no-space", message: expect.stringContaining(path) },
  });
  expect(readdirSync(join(folder, "full"))).toEqual([]);
  const { saved, told } = limited(200, 1);
  expect(told).toMatchObject({ code: "no-space" });
  expect(saved).toBeGreaterThan(10);
  await expectTurns(path, saved);
  expect((await readAll(path)).whole).toBe(true);
});
