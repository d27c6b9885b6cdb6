/** Pages that show commands and what they print. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Every command of a page with the output that is said to follow it. */
export function commandsOf(file: string): [string, string][] {
  const page = readFileSync(join(root, "docs", file), "utf8");
  return [...page.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block]) =>
    block.split(/^(?=\$ )/m).map((part): [string, string] => {
      const [command, ...output] = part.split("\n");
      return [command.replace(/^\$ /, ""), output.join("\n")];
    }),
  );
}

/** What is printed may stand for "…": lines where it is alone, else a part of one. */
export function pattern(output: string): RegExp {
  const escaped = output.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replace(/^…$/gm, "[^]*?").replace(/…/g, ".*")}$`);
}
