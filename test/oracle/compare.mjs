// @ts-check
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Model, unpack } from "../../dist/index.js";
import { greedy } from "./llama.mjs";

const [path, text = "Once upon a time", count = "16", dtype = "f32"] = process.argv.slice(2);
if (path === undefined) {
  console.error("usage: node compare.mjs MODEL.gguf [TEXT] [STEPS] [f32|q8]");
  process.exit(2);
}
const root = mkdtempSync(join(tmpdir(), "sluice-oracle-"));
try {
  const theirs = await greedy(path, text, Number(count));
  const { folder } = await unpack(path, { root, dtype: /** @type {"f32" | "q8"} */ (dtype) });
  const model = await Model.open(folder);
  const session = model.createSession();
  // Each step continues llama.cpp's own text, so that one difference does not hide the steps after it.
  const ids = [...theirs.prompt];
  for (const [index, step] of theirs.steps.entries()) {
    const tokens = session.generate(ids, { sampling: { temperature: 0 }, maxTokens: 1, logprobs: 10 });
    const { value } = await tokens.next();
    await tokens.return(/** @type {never} */ (undefined));
    const ours = /** @type {import("../../dist/index.js").GeneratedToken} */ (value);
    const top = ours.logprob?.top ?? [];
    const apart = Math.max(
      ...top.map(({ id, logprob }) => Math.abs(Math.exp(logprob) - (step.probabilities.get(id) ?? 0))),
    );
    const lead = Math.exp(top[0].logprob) - Math.exp(top[1].logprob);
    const same = ours.id === step.id;
    console.log(
      `${String(index).padStart(3)}  llama.cpp ${step.id}  sluice ${ours.id}  ${same ? "same" : "DIFFERENT"}  ` +
        `probabilities within ${apart.toExponential(1)}, lead ${lead.toFixed(4)}`,
    );
    if (!same && lead > 0.1) process.exitCode = 1;
    ids.push(step.id);
  }
  await model.close();
} finally {
  rmSync(root, { recursive: true, force: true });
}
