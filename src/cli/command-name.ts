import { basename, dirname } from "node:path";
import { findCheckout } from "../store/root.ts";

/** What to type to start sluice: `sluice` where a shell finds it, `npx sluice` where npx has to. */
export function commandName({
  env = process.env,
  script = process.argv[1] ?? "",
}: {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The file that was started, as it was named. */
  readonly script?: string;
} = {}): string {
  const isLocal = basename(dirname(script)) === ".bin" || findCheckout(script) !== undefined;
  return env["npm_command"] === "exec" || isLocal ? "npx sluice" : "sluice";
}

/** A text in which commands to be typed stand as `sluice …`, between backquotes, with what is to be typed here. */
export function withCommandName(text: string, name = commandName()): string {
  return text.replaceAll("`sluice ", `\`${name} `);
}
