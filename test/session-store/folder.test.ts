import { expect, test } from "vitest";
import { sessionsFolder } from "../../src/session-store/folder.ts";

test.each([
  ["linux", {}, "/home/ada/.local/state/sluice/sessions"],
  ["linux", { XDG_STATE_HOME: "/state" }, "/state/sluice/sessions"],
  ["linux", { XDG_STATE_HOME: "relative" }, "/home/ada/.local/state/sluice/sessions"],
  ["linux", { XDG_STATE_HOME: "" }, "/home/ada/.local/state/sluice/sessions"],
  ["darwin", {}, "/home/ada/Library/Application Support/sluice/sessions"],
  ["darwin", { XDG_STATE_HOME: "/state" }, "/state/sluice/sessions"],
])("on %s with %j they are in %s", (platform, env, folder) => {
  expect(sessionsFolder({ platform, env, home: "/home/ada" })).toBe(folder);
});

test("on Windows they are in local application data", () => {
  const home = "C:\\Users\\ada";
  const env = { LOCALAPPDATA: "D:\\Local" };
  expect(sessionsFolder({ platform: "win32", env, home })).toBe("D:\\Local\\sluice\\State\\sessions");
  expect(sessionsFolder({ platform: "win32", env: {}, home })).toBe(
    "C:\\Users\\ada\\AppData\\Local\\sluice\\State\\sessions",
  );
});
