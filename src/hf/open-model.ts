import { openGguf } from "../gguf/open.ts";
import type { Gguf } from "../gguf/types.ts";
import { modelFolder, openHfFolder } from "./open-folder.ts";

/**
 * Open a model as people have it: a GGUF file, part or folder of a split one, or the folder (or a file in it) of a Hugging
 * Face model in safetensors.
 *
 * @throws SluiceError as `openGguf` and `openHfFolder`
 */
export function openModel(path: string): Gguf {
  const folder = modelFolder(path);
  return folder === undefined ? openGguf(path) : openHfFolder(folder);
}
