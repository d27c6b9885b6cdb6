/** A browser for tests, where there is one. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = [
  process.env["CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Chromium of the system, or the one that the environment variable CHROMIUM names. */
export const CHROMIUM = PLACES.find((path) => path !== undefined && path !== "" && existsSync(path));

export function launch(): Promise<Browser> {
  // The page is our own; root and containers have no sandbox for it.
  return chromium.launch({ executablePath: CHROMIUM!, args: ["--no-sandbox", "--disable-gpu"] });
}
