import { expect, test } from "vitest";
import {
  automaticName,
  checkName,
  isAutomatic,
  nameOfFile,
  TEMPORARY,
} from "../../src/session-store/names.ts";

test.each(["work", "Reise nach Zürich", "猫の話", "👩‍👩‍👧 family", "v1.2 final", "a-b_c", " spaces around "])(
  "%j is a name",
  (name) => expect(checkName(name)).toBe(name.trim()),
);

test("is the same however its accents were typed", () => {
  expect(checkName("Zu\u0308rich")).toBe(checkName("Z\u00fcrich"));
});

test.each([
  ["", "empty"],
  ["  ", "empty"],
  ["../escape", '"/"'],
  ["a\\b", '"\\\\"'],
  ["..", "begins with ."],
  [".hidden", "begins with ."],
  ["-rf", "begins with -"],
  ["~", "begins with ~"],
  ["c:stream", '":"'],
  ["what?", '"?"'],
  ["two\nlines", "\\n"],
  ["\u001b[2J", "\\u001b"],
  ["back\u202ewards", "holds"],
  ["half \ud83d", "holds"],
  ["dot.", "ends with a dot"],
  ["NUL", "device"],
  ["com1.txt", "device"],
  ["auto-mine", "given by sluice"],
  ["猫".repeat(67), "201 bytes"],
])("%j is none", (name, problem) => {
  expect(() => checkName(name)).toThrow(
    expect.objectContaining({ code: "bad-input", message: expect.stringContaining(problem) }),
  );
});

test("automatic names tell when, and are no two the same", () => {
  const begun = new Date(2026, 0, 2, 3, 4, 5);
  const names = Array.from({ length: 5 }, () => automaticName(begun));
  expect(names[0]).toMatch(/^auto-20260102-030405-[0-9a-f]{4}$/);
  expect(new Set(names).size).toBeGreaterThan(1);
  expect(names.every(isAutomatic)).toBe(true);
});

test("files of other endings are no sessions", () => {
  expect(nameOfFile("a.b.session")).toBe("a.b");
  expect(nameOfFile(".session")).toBeUndefined();
  expect(nameOfFile("a.session.12.tmp")).toBeUndefined();
  expect("a.session.12.tmp").toMatch(TEMPORARY);
});
