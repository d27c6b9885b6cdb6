import { Command, InvalidArgumentError } from "commander";
import { bashScript } from "./completion/bash.ts";
import { describeCommands } from "./completion/describe.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";
import { print } from "./note.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof SCRIPTS;

const INSTALLING = `
To have it in every new shell:
  bash  sluice completion bash > ~/.local/share/bash-completion/completions/sluice
  zsh   sluice completion zsh > a folder of $fpath, as _sluice; then start zsh anew
  fish  sluice completion fish > ~/.config/fish/completions/sluice.fish`;

/** @param program loads the program with all of its commands */
export function completionCommand(program: () => Promise<Command>): Command {
  return new Command("completion")
    .description("Print a script that completes commands, options and their values in a shell.")
    .argument("<shell>", "bash, zsh or fish", parseShell)
    .addHelpText("after", INSTALLING)
    .action(async (shell: Shell) => print(SCRIPTS[shell](describeCommands(await program()))));
}

function parseShell(name: string): Shell {
  if (Object.hasOwn(SCRIPTS, name)) return name as Shell;
  throw new InvalidArgumentError("It must be bash, zsh or fish.");
}
