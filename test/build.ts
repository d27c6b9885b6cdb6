import { spawnSync } from "node:child_process";

/** The build is what the tests run: bring it up to date before them. Type errors are for `npm run lint` to tell. */
export default function build(): void {
  spawnSync("npx", ["tsc", "-p", "tsconfig.build.json"], {
    stdio: "ignore",
    shell: process.platform === "win32",
  });
}
