// @ts-check
// Unpacks a model in a process of its own, which says on stdout when it begins, and what error it ended with.
//
//     node unpack-child.mjs MODEL ROOT
import { writeSync } from "node:fs";
import { unpack } from "../../dist/unpack/unpack.js";

const [model, root] = process.argv.slice(2);
try {
  await unpack(model, {
    root,
    onProgress: ({ type }) => void (type === "start" && writeSync(1, "start\n")),
  });
} catch (thrown) {
  const { code, message, next } = /** @type {import("../../src/errors.ts").SluiceError} */ (thrown);
  writeSync(1, JSON.stringify({ code, message, next }));
  process.exitCode = 1;
}
