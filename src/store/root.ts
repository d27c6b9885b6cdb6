/** Where unpacked models are kept. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix, sep, win32 } from "node:path";

export interface CacheRootOptions {
  /** `--cache-dir`. */
  readonly explicit?: string | undefined;
  /** Environment variables; an empty one counts as absent. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of the checkout that sluice runs from: see `findCheckout`. */
  readonly checkout?: string | undefined;
  /** As `process.platform`. */
  readonly platform: string;
  /** The user's home folder. */
  readonly home: string;
}

/**
 * The folder that holds the caches: as asked for, else `SLUICE_CACHE_DIR`, else `cache/` of the checkout,
 * else the platform's cache folder. Nothing is created or looked at.
 */
export function cacheRoot({ explicit, env, checkout, platform, home }: CacheRootOptions): string {
  const path = platform === "win32" ? win32 : posix;
  if (explicit) return path.resolve(explicit);
  if (env["SLUICE_CACHE_DIR"]) return path.resolve(env["SLUICE_CACHE_DIR"]);
  if (checkout) return path.join(checkout, "cache");
  if (platform === "win32")
    return path.join(env["LOCALAPPDATA"] || path.join(home, "AppData", "Local"), "sluice", "Cache");
  if (platform === "darwin") return path.join(home, "Library", "Caches", "sluice");
  // The XDG base directory specification: a relative path is invalid and to be ignored.
  const xdg = env["XDG_CACHE_HOME"];
  return path.join(xdg && path.isAbsolute(xdg) ? xdg : path.join(home, ".cache"), "sluice");
}

/**
 * The checkout of sluice that a file belongs to: the folder above it that has sluice's package.json with `.git` or
 * `src` beside it. A copy that npm installed (below `node_modules`) is none.
 *
 * @param file a path of a module of sluice
 */
export function findCheckout(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (packageName(folder) === "sluice") {
      const installed = folder.split(sep).includes("node_modules");
      const developed = existsSync(join(folder, ".git")) || existsSync(join(folder, "src"));
      return developed && !installed ? folder : undefined;
    }
    if (folder === dirname(folder)) return undefined;
  }
}

function packageName(folder: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name;
  } catch {
    return undefined;
  }
}
