#!/usr/bin/env node
import { isHangUp, reportFailure } from "./exit.ts";
import { hangUp, listenForInterrupts } from "./interrupt.ts";
import { createProgram } from "./program.ts";
import { followFirstProcess, startAgain } from "./second-process.ts";

const argv = process.argv.slice(2);
const verbose = argv.includes("--verbose") || Boolean(process.env["SLUICE_DEBUG"]);

const exitCode = await startAgain(argv);
if (exitCode !== undefined) process.exit(exitCode);

followFirstProcess();
listenForInterrupts();
process.on("uncaughtException", leave);
process.stdout.on("error", leave);
process.stderr.on("error", () => {});

try {
  const program = await createProgram(argv);
  await program.parseAsync(argv, { from: "user" });
} catch (error) {
  process.exitCode = reportFailure(error, verbose);
}

function leave(error: Error): void {
  if (isHangUp(error)) hangUp();
  process.exit(reportFailure(error, verbose));
}
