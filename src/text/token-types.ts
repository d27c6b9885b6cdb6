/** Token types of GGUF (`tokenizer.ggml.token_type`). */
export const TOKEN_NORMAL = 1;
export const TOKEN_UNKNOWN = 2;
/** Steers the model (`<|im_end|>`): never made from plain text, printed only on request. */
export const TOKEN_CONTROL = 3;
/** Added by hand (`<think>`): a token wherever its text occurs, and printed like any other. */
export const TOKEN_USER_DEFINED = 4;
/** There to make the vocabulary as long as the embedding. */
export const TOKEN_UNUSED = 5;
/** One byte, written `<0x0A>`. */
export const TOKEN_BYTE = 6;

/** Types that only a caller who asks for special tokens gets to make or see. */
export function isHidden(type: number): boolean {
  return type === TOKEN_CONTROL || type === TOKEN_UNKNOWN;
}
