import type { Session } from "../engine/session.ts";
import type { GeneratedToken, GenerateOptions, GenerateResult } from "../engine/types.ts";

/** Generate an answer, handing each token to `onToken` as it comes. */
export async function answer(
  session: Session,
  prompt: readonly number[],
  { onToken, ...options }: GenerateOptions & { readonly onToken: (token: GeneratedToken) => void },
): Promise<GenerateResult> {
  const tokens = session.generate(prompt, options);
  for (;;) {
    const next = await tokens.next();
    if (next.done) return next.value;
    onToken(next.value);
  }
}
