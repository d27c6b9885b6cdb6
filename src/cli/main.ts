#!/usr/bin/env node
import { reportFailure } from "./exit.ts";
import { listenForInterrupts } from "./interrupt.ts";
import { createProgram } from "./program.ts";

const argv = process.argv.slice(2);
const verbose = argv.includes("--verbose") || Boolean(process.env["SLUICE_DEBUG"]);

listenForInterrupts();
process.on("uncaughtException", (error) => process.exit(reportFailure(error, verbose)));
process.stdout.on("error", (error) => process.exit(reportFailure(error, verbose)));
process.stderr.on("error", () => {});

try {
  const program = await createProgram(argv);
  await program.parseAsync(argv, { from: "user" });
} catch (error) {
  process.exitCode = reportFailure(error, verbose);
}
