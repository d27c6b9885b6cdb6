import type { Architecture } from "../architecture.ts";
import { llama } from "./llama.ts";

/** Llama by another name, where attention has one temperature for all positions (llama.cpp, src/models/mistral3.cpp). */
export const mistral3: Architecture = { ...llama, name: "mistral3" };
