import type { Completed, CompletedCommand } from "./describe.ts";

/** For bash from 3.2 on, without the bash-completion package. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => steps(path));
  return `# Completion of sluice for bash.
_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local command="" count=0 skip=0 word i IFS=$' \\t\\n'
  COMPREPLY=()
  # --option=value comes in three words.
  if [[ $previous == "=" ]]; then previous="\${COMP_WORDS[COMP_CWORD - 2]}"; fi
  if [[ $current == "=" ]]; then current=""; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if ((skip)); then
      if [[ $word != "=" ]]; then skip=0; fi
      continue
    fi
    case "$command/$word" in
      ${paths.join(" | ")})
        command="\${command:+$command/}$word" ;;
      */-*)
        case "$command $word" in
          ${takingValue(commands).join(" | ")}) skip=1 ;;
        esac ;;
      *) count=$((count + 1)) ;;
    esac
  done
  case "$command $previous" in
${optionValues(commands).join("\n")}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${commands.map(({ path, options }) => `      ${quote(path)}) _sluice_words ${quote(options.flatMap(({ names }) => names).join(" "))} ;;`).join("\n")}
    esac
    return
  fi
  case "$command" in
${commands.map(argumentsOf).join("\n")}
  esac
}

_sluice_words() {
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}

_sluice_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen "$@" -- "$current"))
}

_sluice_models() {
  local IFS=$'\\n'
  compopt -o filenames 2> /dev/null
  COMPREPLY=($(compgen -d -- "$current"; compgen -f -X '!*.gguf' -- "$current"))
}

# They are files: see "sluice sessions path".
_sluice_sessions() {
  local folder file name
  folder="$("\${COMP_WORDS[0]}" sessions path 2> /dev/null)"
  compopt -o filenames 2> /dev/null
  for file in "$folder"/*.session; do
    name="\${file##*/}"
    name="\${name%.session}"
    if [[ -f $file && $name == "$current"* ]]; then COMPREPLY+=("$name"); fi
  done
}

complete -F _sluice sluice
`;
}

/** The words of a path as the loop of the script meets them: "/cache", then "cache/ls". */
function steps(path: string): string {
  const cut = path.lastIndexOf("/");
  return quote(cut < 0 ? `/${path}` : path);
}

function takingValue(commands: readonly CompletedCommand[]): string[] {
  const found = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((name) => quote(`${path} ${name}`))),
  );
  return found.length > 0 ? found : [quote("")];
}

function optionValues(commands: readonly CompletedCommand[]): string[] {
  return commands.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      value === undefined
        ? []
        : [`    ${names.map((name) => quote(`${path} ${name}`)).join(" | ")}) ${action(value)}; return ;;`],
    ),
  );
}

function argumentsOf({ path, commands, values }: CompletedCommand): string {
  if (commands.length > 0) {
    return `    ${quote(path)}) _sluice_words ${quote(commands.map(({ name }) => name).join(" "))} ;;`;
  }
  const places = values.map((value, index) => {
    const last = index === values.length - 1;
    return last ? `*) ${action(value)} ;;` : `${index}) ${action(value)} ;;`;
  });
  return `    ${quote(path)}) ${places.length > 0 ? `case $count in ${places.join(" ")} esac` : ":"} ;;`;
}

function action(value: Completed): string {
  switch (value.kind) {
    case "words":
      return `_sluice_words ${quote(value.words.join(" "))}`;
    case "model":
      return "_sluice_models";
    case "file":
      return "_sluice_paths -f";
    case "folder":
      return "_sluice_paths -d";
    case "session":
      return "_sluice_sessions";
    case "text":
      return ":";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
