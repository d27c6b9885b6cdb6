import { join } from "node:path";
import { SluiceError } from "../errors.ts";
import { chooseFile, listed, modelFiles, namesIn } from "./model-files.ts";

/**
 * A model of LM Studio: `PUBLISHER/MODEL/FILE`.
 *
 * @param roots its folders of models
 * @param name `publisher/model`, or `model` where only one publisher has it; in any case
 * @throws SluiceError `bad-input`, with what there is
 */
export function findLmStudio(roots: readonly string[], name: string, quant: string | undefined): string {
  const all = roots.flatMap((root) =>
    namesIn(root).flatMap((publisher) =>
      namesIn(join(root, publisher)).map((model) => ({
        name: `${publisher}/${model}`,
        folder: join(root, publisher, model),
      })),
    ),
  );
  const wanted = name.toLowerCase();
  const found = all.filter(
    ({ name }) => name.toLowerCase() === wanted || name.split("/")[1].toLowerCase() === wanted,
  );
  if (found.length === 1)
    return chooseFile(`lmstudio:${found[0].name}`, modelFiles(found[0].folder), quant, found[0].folder);
  const models = all.filter(({ folder }) => modelFiles(folder).length > 0).map(({ name }) => name);
  throw new SluiceError(
    "bad-input",
    found.length > 1
      ? `lmstudio:${name} could be ${listed(found.map(({ name }) => name))}`
      : `lmstudio:${name} is not in ${roots.join(" or ")}; there is ${listed(models)}`,
    { next: "Give it as lmstudio:PUBLISHER/MODEL, or give the path of a file." },
  );
}
