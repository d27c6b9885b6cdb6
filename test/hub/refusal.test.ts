import { expect, it } from "vitest";
import { retryAfterMs } from "../../src/hub/refusal.ts";

it.each([
  ["7", 7000],
  ["0", 0],
  ["Tue, 01 Dec 2026 10:00:30 GMT", 30_000],
  ["Tue, 01 Dec 2026 09:00:00 GMT", 0],
  ["soon", undefined],
  ["", undefined],
])("Retry-After: %s", (text, ms) => {
  const response = new Response(null, { headers: { "retry-after": text } });
  expect(retryAfterMs(response, Date.parse("2026-12-01T10:00:00Z"))).toBe(ms);
});
