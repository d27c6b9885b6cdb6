import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, MAIN, sluice } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-completion-"));
/** Not in the folder whose files are completed. */
const home = mkdtempSync(join(tmpdir(), "sluice-home-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
  rmSync(home, { recursive: true });
});

const has = (shell: string) => spawnSync(shell, ["-c", "exit"]).status === 0;

beforeAll(async () => {
  mkdirSync(join(folder, "models"));
  writeFileSync(join(folder, "small.gguf"), "");
  writeFileSync(join(folder, "notes.txt"), "");
  const sessions = join(home, "state", "sluice", "sessions");
  mkdirSync(sessions, { recursive: true });
  for (const name of ["work", "two words"]) writeFileSync(join(sessions, `${name}.session`), "");
  // Names of conversations are asked of the command itself.
  mkdirSync(join(home, "bin"));
  writeFileSync(join(home, "bin", "sluice"), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, {
    mode: 0o755,
  });
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout, stderr } = await sluice(["completion", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    writeFileSync(join(folder, `sluice.${shell}`), stdout);
  }
});

function inShell(shell: string, script: string): string[] {
  const { stdout, stderr } = spawnSync(shell, ["-c", script], {
    cwd: folder,
    encoding: "utf8",
    env: environment({
      HOME: folder,
      XDG_STATE_HOME: join(home, "state"),
      PATH: `${join(home, "bin")}:${process.env["PATH"]}`,
    }),
  });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

/** Words typed, the last one being completed, and what may come, for any shell. */
const CASES: [string[], string[], string[]][] = [
  [["ru"], ["run"], ["chat"]],
  [[""], ["run", "lens", "cache", "completion", "help"], ["demo"]],
  [["cache", ""], ["ls", "path", "verify", "rm"], ["run"]],
  [["help", "un"], ["unpack"], ["run"]],
  [["run", "--js"], ["--json", "--json-lines"], ["--model"]],
  [["cache", "ls", "--cache"], ["--cache-dir"], ["--json"]],
  [["run", "--dtype", ""], ["f32", "native", "f16", "q8"], ["small.gguf"]],
  [["chat", "--resume", ""], ["work", "two words"], ["small.gguf"]],
  [["sessions", "rm", "w"], ["work"], ["two words"]],
  [["completion", ""], ["bash", "zsh", "fish"], []],
  // What is the value of an option is no command.
  [["run", "--prompt", "cache", "--stop"], ["--stop"], ["ls"]],
];

describe.runIf(has("bash"))("bash", () => {
  const complete = (words: readonly string[]) =>
    inShell(
      "bash",
      `source ./sluice.bash; COMP_WORDS=(sluice ${words.map((word) => `'${word}'`).join(" ")})
       COMP_CWORD=${words.length}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );

  it.each(CASES)("%j", (words, there, notThere) => {
    const got = complete(words);
    expect(got).toEqual(expect.arrayContaining(there));
    for (const word of notThere) expect(got).not.toContain(word);
  });

  it("completes paths: models, files, folders, in the words that bash makes of --option=value too", () => {
    expect(complete(["run", ""]).sort()).toEqual(["models", "small.gguf"]);
    expect(complete(["run", "-m", "sm"])).toEqual(["small.gguf"]);
    expect(complete(["run", "-f", "n"])).toEqual(["notes.txt"]);
    expect(complete(["run", "--cache-dir", ""])).toEqual(["models"]);
    expect(complete(["run", "--dtype", "=", "q"])).toEqual(["q8"]);
    expect(complete(["run", "--temp", ""])).toEqual([]);
    // The text of tokenize comes after its model, and nobody can know it.
    expect(complete(["tokenize", "sm"])).toEqual(["small.gguf"]);
    expect(complete(["tokenize", "small.gguf", ""])).toEqual([]);
  });

  it("is registered", () => {
    expect(inShell("bash", "source ./sluice.bash; complete -p sluice")).toEqual([
      "complete -F _sluice sluice",
    ]);
  });
});

describe.runIf(has("fish"))("fish", () => {
  const complete = (words: readonly string[]) =>
    inShell("fish", `source ./sluice.fish; complete -C 'sluice ${words.join(" ")}'`).map(
      (line) => line.split("\t")[0],
    );

  it.each(CASES)("%j", (words, there, notThere) => {
    const got = complete(words);
    expect(got).toEqual(expect.arrayContaining(there));
    for (const word of notThere) expect(got).not.toContain(word);
  });

  it("completes paths", () => {
    expect(complete(["run", "-m", "sm"])).toEqual(["small.gguf"]);
    expect(complete(["run", "sm"])).toEqual(["small.gguf"]);
  });
});

describe.runIf(has("zsh"))("zsh", () => {
  /** What zsh lists for a line, through a terminal of its own. */
  const complete = (words: readonly string[]) =>
    inShell(
      "zsh",
      `zmodload zsh/zpty
       zpty -b z zsh -f -i
       zpty -w z 'PS1= PROMPT2= RPS1=; autoload -Uz compinit; compinit -u -d ./zcompdump; source ./sluice.zsh'
       zpty -w z 'zstyle ":completion:*" list-separator "#"; unsetopt menu_complete; setopt no_list_beep; LISTMAX=1000; stty columns 200 rows 100'
       zpty -w z 'list() { compadd() { local -a found; builtin compadd -O found "$@"; print -rl -- "<"$^found">"; builtin compadd "$@"; }; _main_complete; zle -M done; }; zle -C list complete-word list; bindkey "^X" list; print rea""dy'
       zpty -r -m z line '*ready*'
       zpty -n -w z ${JSON.stringify(`sluice ${words.join(" ")}`)}$'\\C-X'
       sleep 1.5
       zpty -r z line '*done*' 2>/dev/null; print -r -- $line
       zpty -d z`,
    )
      .join("\n")
      .match(/(?<=<)[^<>\n\r]+(?=>)/g) ?? [];

  it("is sound", () => {
    expect(spawnSync("zsh", ["-n", join(folder, "sluice.zsh")]).status).toBe(0);
  });

  it.each([CASES[0], CASES[2], CASES[4], CASES[7]])("%j", (words, there) => {
    expect(complete(words)).toEqual(expect.arrayContaining(there));
  });
});
