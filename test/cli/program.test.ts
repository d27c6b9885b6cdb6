import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { reportFailure } from "../../src/cli/exit.ts";
import { createProgram } from "../../src/cli/program.ts";
import { environment, MAIN, MODEL, sluice } from "./spawn.ts";

/** Parse a command line in this process, up to where the command would run. */
async function parse(argv: readonly string[]) {
  const outcome = { code: 0, stdout: "", stderr: "" };
  const program = await createProgram(argv);
  const capture = (command: Command): void => {
    command.configureOutput({
      writeOut: (text) => {
        outcome.stdout += text;
      },
      writeErr: (text) => {
        outcome.stderr += text;
      },
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
    });
    command.commands.forEach(capture);
  };
  capture(program);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    outcome.code = reportFailure(error, false);
  }
  return outcome;
}

describe("help", () => {
  it("lists the commands", async () => {
    const help = await parse(["--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatchSnapshot();
    expect(await parse(["help"])).toEqual(help);
    expect(await parse(["-h"])).toEqual(help);
  });

  it.each(["run", "chat", "batch", "logits", "plan", "bench", "embed", "lens"])("of %s", async (name) => {
    const help = await parse([name, "--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatchSnapshot();
    expect(await parse(["help", name])).toEqual(help);
  });

  it.each(["watch", "unpack", "inspect", "tokenize", "render", "cache", "demo", "completion"])(
    "loads %s",
    async (name) => {
      const { code, stdout } = await parse([name, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: sluice ${name}`));
    },
  );
});

describe("usage errors: exit 2, what is wrong, how to get help", () => {
  it.each<[string[], RegExp, string]>([
    [["runn"], /unknown command 'runn'\n\(Did you mean run\?\)/, "sluice --help"],
    [["--frob"], /unknown option '--frob'/, "sluice --help"],
    [
      ["run", MODEL, "--promt", "x"],
      /unknown option '--promt'\n\(Did you mean --prompt\?\)/,
      "sluice run --help",
    ],
    [["embed"], /no model: give a GGUF file/, "sluice embed --help"],
    [["embed", MODEL], /no text/, "sluice embed --help"],
    [["embed", MODEL, ""], /a text is empty/, "sluice embed --help"],
    [["lens", MODEL, "-p", "x", "--top", "11"], /from 1 to 10/, "sluice lens --help"],
    [["completion", "tcsh"], /It must be bash, zsh or fish/, "sluice completion --help"],
    [["run", MODEL, "-p", "x", "--stop", ""], /--stop needs a text/, "sluice run --help"],
    [["run", MODEL, "-p", "x", "--json", "--json-lines"], /cannot be used with option/, "sluice run --help"],
    [["chat", "--tmep", "1"], /\(Did you mean --temp\?\)/, "sluice chat --help"],
    [["lens", "--postions", "1"], /\(Did you mean --positions\?\)/, "sluice lens --help"],
    [["embd", "x"], /\(Did you mean embed\?\)/, "sluice --help"],
    [["help", "sessions", "rmm"], /unknown command 'rmm'/, "sluice sessions --help"],
    [["help", "rnu"], /unknown command 'rnu'\n\(Did you mean run\?\)/, "sluice --help"],
    [["cache", "verfy"], /\(Did you mean verify\?\)/, "sluice cache --help"],
    [["run", MODEL, "-m", MODEL, "-p", "x"], /more than one model/, "sluice run --help"],
    [["run", MODEL, "another", "-p", "x"], /too many arguments/, "sluice run --help"],
    [["run", MODEL, "-p", "x", "-f", "y"], /more than one prompt/, "sluice run --help"],
    [
      ["run", MODEL, "-p", "x", "--temp", "warm"],
      /'--temp <t>' argument 'warm' is invalid/,
      "sluice run --help",
    ],
    [["run", MODEL, "-p", "x", "--top-p", "7"], /top-p is 7/, "sluice run --help"],
    [["run", MODEL, "-p", "x", "--logprobs", "3"], /--logprobs needs --json/, "sluice run --help"],
    [["run", MODEL, "-p", "x", "--dtype", "f12"], /'f12' is invalid/, "sluice run --help"],
    [["chat", MODEL, "--frob"], /unknown option '--frob'/, "sluice chat --help"],
    [["logits", MODEL, "--ids", "1"], /required option '--out <file>' not specified/, "sluice logits --help"],
    [["logits", MODEL, "--ids", "", "--out", "x"], /--ids must be whole numbers/, "sluice logits --help"],
    [["logits", MODEL, "--ids", "1,x", "--out", "x"], /--ids must be whole numbers/, "sluice logits --help"],
    [["logits", MODEL, "--ids", "1,-2", "--out", "x"], /--ids must be whole numbers/, "sluice logits --help"],
    [["cache", "frob"], /unknown command 'frob'/, "sluice cache --help"],
  ])("%j", async (argv, message, help) => {
    const { code, stdout, stderr } = await parse(argv);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^sluice: /);
    expect(stderr).toContain(`Try 'npx ${help}'.`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });
});

describe("the built command", () => {
  it("prints its version", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await sluice(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("without a command prints the help on stderr, and fails", async () => {
    const { code, stdout, stderr } = await sluice([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: sluice");
  });

  it("exits with 2 where the command line makes no sense", async () => {
    const nothing = await sluice(["run", MODEL]);
    expect(nothing).toMatchObject({ code: 2, stdout: "" });
    expect(nothing.stderr).toMatch(
      /^sluice: no prompt: .* or text on stdin\nTry 'npx sluice run --help'\.\n$/,
    );
    const taken = await sluice(["run", "Hello there"]);
    expect(taken).toMatchObject({ code: 2, stdout: "" });
    expect(taken.stderr).toMatch(
      /^sluice: no prompt: "Hello there" was taken for the model; a prompt is given with -p: (npx )?sluice run -p "Hello there"\n/,
    );
  });

  it("exits with 1 where something fails, and shows the stack only when asked", async () => {
    const argv = ["run", "/nowhere/model.gguf", "-p", "x"];
    const { code, stderr } = await sluice(argv);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sluice: .*\/nowhere\/model\.gguf/);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect((await sluice(argv, { env: { SLUICE_DEBUG: "1" } })).stderr).toMatch(/^\s+at /m);
    expect((await sluice([...argv, "--verbose"])).stderr).toMatch(/^\s+at /m);
    // Also of a command that prints nothing more with it.
    const inspected = await sluice(["inspect", "/nowhere/model.gguf", "--verbose"]);
    expect(inspected).toMatchObject({ code: 1 });
    expect(inspected.stderr).toMatch(/^\s+at /m);
  });

  it("ends quietly when its reader has seen enough", async () => {
    const child = spawn(process.execPath, [MAIN, "help"], { env: environment() });
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.stdout.destroy();
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
