import { SluiceError } from "../../errors.ts";
import { type PromptCache, PromptSegments, SEGMENT_POSITIONS } from "../prompt-cache.ts";
import type { Member } from "./member.ts";
import { type Beginning, beginAs } from "./prefixes.ts";
import type { BatchRequest } from "./types.ts";

export interface RecallOptions {
  /** Milliseconds that a row of the batch takes. */
  readonly msPerRow: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Let a member begin with the longer of what others have of its prompt and what the prompt cache has. A beginning that
 * two requests have is kept there; others may never come again.
 *
 * @param beginning what others have
 * @throws SluiceError `aborted`
 */
export async function recallBeginning(
  promptCache: PromptCache,
  member: Member<BatchRequest>,
  beginning: Beginning | undefined,
  { msPerRow, signal }: RecallOptions,
): Promise<void> {
  const segments = new PromptSegments(promptCache, member.request.prompt, member.sequence!);
  const found = await segments.found();
  const shared = beginning?.length ?? 0;
  try {
    if (found > shared) {
      // What others have of it need not be read.
      const whole = shared - (shared % SEGMENT_POSITIONS);
      if (beginning !== undefined) beginAs(member, { ...beginning, length: whole });
      member.computed = await segments.recall(whole, signal);
      member.reused = member.computed;
      member.recalled = member.computed - whole;
    } else if (beginning !== undefined) {
      beginAs(member, beginning);
      for (let end = found + SEGMENT_POSITIONS; end <= shared; end += SEGMENT_POSITIONS)
        segments.keep(end / SEGMENT_POSITIONS - 1, msPerRow * SEGMENT_POSITIONS);
      await segments.settle();
    }
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== "context-full") throw error;
    // There will be room later.
    member.sequence!.truncate(0);
    member.computed = 0;
  }
}
