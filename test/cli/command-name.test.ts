import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { commandName, withCommandName } from "../../src/cli/command-name.ts";

const here = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

it.each([
  ["/usr/local/bin/sluice", {}, "sluice"],
  ["/usr/local/lib/node_modules/sluice/dist/cli/main.js", {}, "sluice"],
  ["/usr/local/bin/sluice", { npm_command: "exec" }, "npx sluice"],
  ["/project/node_modules/.bin/sluice", {}, "npx sluice"],
  [here("dist/cli/main.js"), {}, "npx sluice"],
])("%s %j is started as %s", (script, env, name) => {
  expect(commandName({ script, env })).toBe(name);
});

it("stands in advice", () => {
  expect(withCommandName("`sluice cache ls` lists; sluice knows.", "npx sluice")).toBe(
    "`npx sluice cache ls` lists; sluice knows.",
  );
});
