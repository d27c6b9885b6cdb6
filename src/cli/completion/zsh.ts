import type { Completed, CompletedCommand, CompletedOption } from "./describe.ts";

/** For zsh, by its own `_arguments`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef sluice
# Completion of sluice for zsh.
${commands.map(functionOf).join("\n")}
# Saved conversations are files.
_sluice_saved() {
  local -a names=("$(sluice sessions path 2> /dev/null)"/*.session(N:t:r))
  compadd -a names
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`;
}

function functionOf({ path, options, commands, values }: CompletedCommand): string {
  const specs = options.flatMap(optionSpecs);
  const name = functionName(path);
  if (commands.length === 0) {
    const places = values.map((value, index) =>
      quote(`${index === values.length - 1 ? "*" : index + 1}: :${action(value)}`),
    );
    return `${name}() {
  _arguments -s -S ${[...specs, ...places].join(" \\\n    ")}
}
`;
  }
  const described = commands.map((child) => quote(`${child.name}:${child.summary}`));
  return `${name}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
    ${described.join("\n    ")}
  )
  _arguments -C -S ${[...specs, "'1: :->command'", "'*:: :->rest'"].join(" \\\n    ")}
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
${commands.map((child) => `        ${child.name}) ${functionName(child.path)} ;;`).join("\n")}
      esac ;;
  esac
}
`;
}

function functionName(path: string): string {
  return path === "" ? "_sluice" : `_sluice_${path.replaceAll("/", "_")}`;
}

function optionSpecs({ names, description, value }: CompletedOption): string[] {
  const told = `[${description.replace(/[[\]\\]/g, "\\$&")}]`;
  const wanted = value === undefined ? "" : `: :${action(value)}`;
  return names.map((name) => {
    const others = names.length > 1 ? `(${names.join(" ")})` : "";
    return quote(`${others}${name}${told}${wanted}`);
  });
}

function action(value: Completed): string {
  switch (value.kind) {
    case "words":
      return `(${value.words.join(" ")})`;
    case "model":
      return '_files -g "*.gguf(-.)"';
    case "file":
      return "_files";
    case "folder":
      return "_files -/";
    case "session":
      return "_sluice_saved";
    case "text":
      return " ";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
