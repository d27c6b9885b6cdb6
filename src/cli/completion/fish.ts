import type { Completed, CompletedCommand } from "./describe.ts";

/** For fish from 3.0 on. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands
    .filter(({ path }) => path !== "")
    .map(({ path }) => quote(path.includes("/") ? path : `/${path}`));
  return `# Completion of sluice for fish.
function __sluice_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    for word in $words
        switch "$at/$word"
            case ${paths.join(" ")}
                set at (string trim -l -c / "$at/$word")
        end
    end
    test "$at" = "$argv[1]"
end

# Saved conversations are files.
function __sluice_sessions
    set -l files (sluice sessions path 2> /dev/null)/*.session
    string replace -r '^.*/(.*)\\.session$' '$1' -- $files
end

complete -c sluice -f
${commands.flatMap(lines).join("\n")}
`;
}

function lines({ path, options, commands, values }: CompletedCommand): string[] {
  const start = `complete -c sluice -n ${quote(`__sluice_at '${path}'`)}`;
  return [
    ...commands.map(({ name, summary }) => `${start} -a ${name} -d ${quote(summary)}`),
    ...options.map(({ names, description, value }) => {
      const switches = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name[1]}`));
      const wanted = value === undefined ? "" : ` ${optionValue(value)}`;
      return `${start} ${switches.join(" ")}${wanted} -d ${quote(description)}`;
    }),
    ...values.flatMap((value) => {
      const words = value.kind === "words" ? [`${start} -a ${quote(value.words.join(" "))}`] : [];
      if (value.kind === "session") return [`${start} -a '(__sluice_sessions)'`];
      return value.kind === "text" || value.kind === "words" ? words : [`${start} -F`];
    }),
  ];
}

function optionValue(value: Completed): string {
  switch (value.kind) {
    case "words":
      return `-x -a ${quote(value.words.join(" "))}`;
    case "folder":
      return "-x -a '(__fish_complete_directories)'";
    case "session":
      return "-x -a '(__sluice_sessions)'";
    case "text":
      return "-x";
    default:
      return "-r -F";
  }
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
