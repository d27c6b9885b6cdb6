import { expect, it } from "vitest";
import { stateFolder } from "../../src/cli/state-folder.ts";

it.each([
  ["linux", {}, "/home/a", "/home/a/.local/state/sluice"],
  ["linux", { XDG_STATE_HOME: "/state" }, "/home/a", "/state/sluice"],
  ["linux", { XDG_STATE_HOME: "state" }, "/home/a", "/home/a/.local/state/sluice"],
  ["darwin", {}, "/Users/a", "/Users/a/Library/Application Support/sluice"],
  ["win32", { LOCALAPPDATA: "C:\\L" }, "C:\\a", "C:\\L\\sluice\\State"],
])("on %s with %j", (platform, env, home, folder) => {
  expect(stateFolder({ env, platform, home })).toBe(folder);
});
