import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cacheRoot, findCheckout } from "../../src/store/root.ts";
import { temporaryFolder } from "./fake-cache.ts";

const linux = { env: {}, platform: "linux", home: "/home/ada" };

describe("cacheRoot", () => {
  test("asked for, then the environment, then the checkout, then the platform", () => {
    const env = { SLUICE_CACHE_DIR: "/env" };
    expect(cacheRoot({ ...linux, explicit: "/asked", env, checkout: "/co" })).toBe("/asked");
    expect(cacheRoot({ ...linux, env, checkout: "/co" })).toBe("/env");
    expect(cacheRoot({ ...linux, env: { SLUICE_CACHE_DIR: "" }, checkout: "/co" })).toBe("/co/cache");
    expect(cacheRoot(linux)).toBe("/home/ada/.cache/sluice");
  });

  test("the platforms' own folders", () => {
    expect(cacheRoot({ ...linux, env: { XDG_CACHE_HOME: "/xdg" } })).toBe("/xdg/sluice");
    expect(cacheRoot({ ...linux, env: { XDG_CACHE_HOME: "relative" } })).toBe("/home/ada/.cache/sluice");
    expect(cacheRoot({ ...linux, platform: "darwin" })).toBe("/home/ada/Library/Caches/sluice");
    const windows = { env: {}, platform: "win32", home: "C:\\Users\\Ada" };
    expect(cacheRoot(windows)).toBe("C:\\Users\\Ada\\AppData\\Local\\sluice\\Cache");
    expect(cacheRoot({ ...windows, env: { LOCALAPPDATA: "D:\\Local" } })).toBe("D:\\Local\\sluice\\Cache");
  });
});

describe("findCheckout", () => {
  const folder = temporaryFolder();
  const make = (path: string, name: string, beside?: string) => {
    mkdirSync(join(folder, path, "dist", "cli"), { recursive: true });
    if (beside) mkdirSync(join(folder, path, beside));
    writeFileSync(join(folder, path, "package.json"), JSON.stringify({ name }));
    return findCheckout(join(folder, path, "dist", "cli", "main.js"));
  };

  test("is a folder of sluice with its sources or history", () => {
    expect(make("a", "sluice", "src")).toBe(join(folder, "a"));
    expect(make("b", "sluice", ".git")).toBe(join(folder, "b"));
  });

  test("is no installed or packed copy, nor another package", () => {
    expect(make("app/node_modules/sluice", "sluice", "src")).toBeUndefined();
    expect(make("c", "sluice")).toBeUndefined();
    expect(make("d", "other", "src")).toBeUndefined();
  });
});
