import { readFileSync } from "node:fs";
import { Command } from "commander";
import { commandName } from "./command-name.ts";
import { toldText } from "./tell.ts";

/** Every command: what the help says of it, and its module, which is loaded only when the command is used. */
const COMMANDS: readonly {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  readonly hidden?: boolean;
  readonly load: () => Promise<Command>;
}[] = [
  {
    name: "run",
    usage: "[model]",
    summary: "generate one answer",
    load: async () => (await import("./run.ts")).runCommand(),
  },
  {
    name: "chat",
    usage: "[model]",
    summary: "chat with a model",
    load: async () => (await import("./chat.ts")).chatCommand(),
  },
  {
    name: "batch",
    usage: "[model] [file]",
    summary: "answer many prompts at once, from a file into a file",
    load: async () => (await import("./batch.ts")).batchCommand(),
  },
  {
    name: "watch",
    usage: "[model]",
    summary: "generate one answer, and see layers, disk and memory at work",
    load: async () => (await import("./watch.ts")).watchCommand(),
  },
  {
    name: "pull",
    usage: "[name]",
    summary: "download a model from Hugging Face",
    load: async () => (await import("./pull.ts")).pullCommand(),
  },
  {
    name: "unpack",
    usage: "[model]",
    summary: "unpack a model into the cache, once",
    load: async () => (await import("./unpack.ts")).unpackCommand(),
  },
  {
    name: "plan",
    usage: "[model]",
    summary: "show what a model needs, and how fast it will be here",
    load: async () => (await import("./plan.ts")).planCommand(),
  },
  {
    name: "inspect",
    usage: "[model]",
    summary: "show what a model file holds",
    load: async () => (await import("./inspect.ts")).inspectCommand(),
  },
  {
    name: "quantize",
    usage: "<in> <out> <type>",
    summary: "write a model file in fewer bits",
    load: async () => (await import("./quantize.ts")).quantizeCommand(),
  },
  {
    name: "tokenize",
    usage: "[model] [text]",
    summary: "show the tokens of a text",
    load: async () => (await import("./tokenize.ts")).tokenizeCommand(),
  },
  {
    name: "render",
    usage: "[model]",
    summary: "show what the chat template makes of messages",
    load: async () => (await import("./render.ts")).renderCommand(),
  },
  {
    name: "logits",
    usage: "[model]",
    summary: "write the logits of every position, to compare with other engines",
    load: async () => (await import("./logits.ts")).logitsCommand(),
  },
  {
    name: "embed",
    usage: "<model> <text...>",
    summary: "compare token embeddings, and find the nearest tokens",
    load: async () => (await import("./embed.ts")).embedCommand(),
  },
  {
    name: "lens",
    usage: "[model]",
    summary: "show what the model would say after each layer",
    load: async () => (await import("./lens.ts")).lensCommand(),
  },
  {
    name: "bench",
    usage: "[model]",
    summary: "time prompts and generation, as llama-bench does",
    load: async () => (await import("./bench.ts")).benchCommand(),
  },
  {
    name: "report",
    usage: "<recording> [other]",
    summary: "show where the time went, from what --timings has written",
    load: async () => (await import("./report.ts")).reportCommand(),
  },
  {
    name: "rm",
    usage: "<name...>",
    summary: "delete downloaded models",
    load: async () => (await import("./rm.ts")).rmCommand(),
  },
  {
    name: "cache",
    usage: "<command>",
    summary: "look after unpacked models",
    load: async () => (await import("./cache.ts")).cacheCommand(),
  },
  {
    name: "sessions",
    usage: "<command>",
    summary: "look after saved conversations",
    load: async () => (await import("./sessions.ts")).sessionsCommand(),
  },
  {
    name: "completion",
    usage: "<shell>",
    summary: "print a completion script for bash, zsh or fish",
    load: async () => (await import("./completion.ts")).completionCommand(() => assemble(() => true)),
  },
  {
    name: "demo",
    usage: "",
    summary: "unpack the bundled model and ask it two questions",
    hidden: true,
    load: async () => (await import("./demo.ts")).demoCommand(),
  },
];

const EXAMPLES = `
Examples:
  sluice chat                                 chat with the bundled model
  sluice run model.gguf -p "Why is it so?"    one answer
  echo "Hello" | sluice run model.gguf -p -   a prompt from stdin
  sluice unpack model.gguf --dtype q8         unpack only, with weights of 8 bits

A command that needs an unpacked model unpacks it first. Exit codes: 0, 1 (failure), 2 (usage), 130 (Ctrl-C).`;

/**
 * The program for this command line: the command that it names in full, the others by name and summary.
 * Errors are thrown, nothing exits.
 */
export async function createProgram(argv: readonly string[]): Promise<Command> {
  const wanted = COMMANDS.find(({ name }) => name === argv.find((argument) => !isHelp(argument)));
  return assemble((command) => command === wanted);
}

/** @param inFull which commands to load; of the others there are name and summary only */
async function assemble(inFull: (command: (typeof COMMANDS)[number]) => boolean): Promise<Command> {
  const program = new Command("sluice")
    .description("Runs GGUF language models that do not fit in RAM, by streaming their layers from disk.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help for a command")
    .helpCommand(false)
    .addHelpText("after", EXAMPLES);
  for (const command of COMMANDS) {
    const { name, usage, summary, hidden = false, load } = command;
    const shown = inFull(command) ? await load() : new Command(name).usage(usage);
    program.addCommand(shown.summary(summary), { hidden });
    if (inFull(command)) [shown, ...descendants(shown)].forEach(addVerbose);
  }
  program.addCommand(helpCommand(program));
  for (const command of [program, ...descendants(program)]) {
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(toldText(text.replace(/^error: /, "sluice: "), process.stderr)),
    });
    command.showHelpAfterError(`Try '${fullName(command).replace(/^sluice/, commandName())} --help'.`);
  }
  return program;
}

/** As commander's own, which takes a name that it does not know for none. */
function helpCommand(program: Command): Command {
  return new Command("help")
    .argument("[command...]")
    .description("print help for a command")
    .helpOption(false)
    .action((names: readonly string[]) => {
      let named = program;
      for (const name of names) {
        const found = named.commands.find((command) => command.name() === name);
        // The error of an unknown command, with the one that was meant.
        if (found === undefined) program.parse(names, { from: "user" });
        else named = found;
      }
      named.help();
    });
}

/** `--verbose` shows where any command failed; some print more with it all the time. */
function addVerbose(command: Command): void {
  if (command.commands.length > 0 || command.options.some(({ long }) => long === "--verbose")) return;
  command.option("--verbose", "when it fails, print where");
}

function isHelp(argument: string): boolean {
  return argument === "help" || argument === "-h" || argument === "--help";
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}

function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}
