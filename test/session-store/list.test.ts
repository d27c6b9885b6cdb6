import { readdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  findSession,
  listSessions,
  pruneSessions,
  removeSession,
  sessionPath,
} from "../../src/session-store/list.ts";
import { acquireLock, lockHolder } from "../../src/store/lock.ts";
import { readAll, saveTurns, sessionFolder } from "./fixture.ts";

const root = sessionFolder();
let folders = 0;

/** A folder with a conversation of so many turns under each name; the more turns, the later. */
async function folderOf(sessions: Readonly<Record<string, number>>): Promise<string> {
  const folder = join(root, `${folders++}`);
  await mkdir(folder);
  for (const [name, turns] of Object.entries(sessions)) await saveTurns(sessionPath(folder, name), turns);
  return folder;
}

test("lists what there is, the last changed first, damaged ones too", async () => {
  const folder = await folderOf({ work: 1, "auto-20260102-030405-abcd": 3, 猫: 2 });
  writeFileSync(sessionPath(folder, "broken"), "x");
  writeFileSync(join(folder, "notes.txt"), "mine");
  await mkdir(sessionPath(folder, "folder"));
  const entries = await listSessions(folder);
  expect(entries.map(({ name }) => name)).toEqual(["broken", "auto-20260102-030405-abcd", "猫", "work"]);
  expect(entries.map(({ automatic }) => automatic)).toEqual([false, true, false, false]);
  expect(entries[0].problem).toContain("broken.session is damaged");
  expect(entries[1].head?.messages).toHaveLength(6);
  expect(await listSessions(join(folder, "nowhere"))).toEqual([]);
});

test("finds by name, or a beginning that is clear", async () => {
  const folder = await folderOf({ work: 1, workshop: 1, Zürich: 1 });
  expect((await findSession(folder, "work")).name).toBe("work");
  expect((await findSession(folder, "works")).name).toBe("workshop");
  expect((await findSession(folder, "Zu\u0308")).name).toBe("Zürich");
  await expect(findSession(folder, "wor")).rejects.toMatchObject({
    code: "bad-input",
    message: "wor could be workshop or work",
  });
  await expect(findSession(folder, "play")).rejects.toMatchObject({ code: "bad-input" });
  await expect(findSession(folder, "")).rejects.toMatchObject({ code: "bad-input" });
  await removeSession(await findSession(folder, "work"));
  expect((await findSession(folder, "work")).name).toBe("workshop");
});

test("keeps automatic ones within bounds, and no others", async () => {
  const folder = await folderOf({
    "auto-1": 1,
    "auto-2": 2,
    "auto-3": 3,
    "auto-4": 4,
    "auto-5": 5,
    named: 1,
  });
  const [latest, next] = await listSessions(folder);
  const mostBytes = latest.bytes + next.bytes;
  const done = await pruneSessions(folder, "auto-1", { most: 3, mostBytes, worth: 0 });
  expect(done).toEqual({ removed: ["auto-2"], shortened: ["auto-3"] });
  expect((await listSessions(folder)).map(({ name }) => name)).toEqual([
    "auto-5",
    "auto-4",
    "auto-3",
    "named",
    "auto-1",
  ]);
  expect((await readAll(sessionPath(folder, "auto-4"))).blocks).toHaveLength(5);
  const shortened = await readAll(sessionPath(folder, "auto-3"));
  expect(shortened.content.messages).toHaveLength(6);
  expect(shortened.blocks).toEqual([]);
});

test("clears away what was left half written, but not what is being written", async () => {
  const folder = await folderOf({ named: 1, busy: 1 });
  const release = await acquireLock(sessionPath(folder, "busy"));
  for (const name of ["named.session.12.tmp", "busy.session.13.tmp", "gone.session.14.tmp", "mine.tmp"])
    writeFileSync(join(folder, name), "");
  const dead = { ...lockHolder(sessionPath(folder, "busy")), pid: 2 ** 22 + 1 };
  writeFileSync(join(folder, "dead.session.lock-0123456789abcdef"), JSON.stringify(dead));
  const left = async () => {
    await listSessions(folder);
    return readdirSync(folder)
      .filter((name) => !name.includes(".lock-"))
      .sort();
  };
  expect(await left()).toEqual(["busy.session", "busy.session.13.tmp", "mine.tmp", "named.session"]);
  release();
  expect(await left()).toEqual(["busy.session", "mine.tmp", "named.session"]);
  expect(readdirSync(folder)).toHaveLength(3);
});

test("a save clears away what an earlier one of the conversation left", async () => {
  const folder = await folderOf({});
  for (const name of ["a.session.12.tmp", "a.session.x.session.12.tmp"])
    writeFileSync(join(folder, name), "");
  await saveTurns(sessionPath(folder, "a"), 1);
  expect(readdirSync(folder).sort()).toEqual(["a.session", "a.session.x.session.12.tmp"]);
});
