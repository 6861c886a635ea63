/**
 * Bundles a page in parts: what it needs at first is one file, the rest is loaded on demand.
 *
 * Every part that is loaded on demand imports the entry. So all code that the entry needs is shared by all parts, and
 * esbuild puts it into one chunk.
 */

import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build } from "esbuild";

/** The files by name, and esbuild's analysis of the inputs. */
export async function bundleParts(common, here, entry, plugins = []) {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: { [basename(entry, ".ts")]: entry },
    outdir: here,
    write: false,
    metafile: true,
    splitting: true,
    chunkNames: `${basename(entry, ".ts")}-[name]-[hash]`,
    plugins: [...plugins, onDemand(join(here, entry))],
  });
  return renamed(outputFiles, metafile, here, entry);
}

/** Parts that are loaded on demand import the entry. */
function onDemand(entry) {
  const parts = new Set();
  return {
    name: "on demand",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /^\./, namespace: "file" }, async ({ kind, path, pluginData, ...from }) => {
        if (kind !== "dynamic-import" || pluginData === "asked") return undefined;
        const found = await resolve(path, { ...from, kind, pluginData: "asked" });
        parts.add(found.path);
        return found;
      });
      onLoad({ filter: /\.ts$/, namespace: "file" }, async ({ path }) =>
        parts.has(path)
          ? {
              contents: `${await readFile(path, "utf8")}\nimport ${JSON.stringify(entry)};`,
              loader: "ts",
            }
          : undefined,
      );
    },
  };
}

/** These files and all that they import; of the entry, what is loaded at first. */
export function loadedWith({ outputs }, names) {
  const found = new Set(names);
  for (const name of found)
    for (const { path, kind } of outputs[name].imports) if (kind === "import-statement") found.add(path);
  return [...found];
}

/**
 * Names without hashes, which stay when the content changes. A chunk of no input holds only functions of esbuild;
 * parts that use none of them do not load it.
 */
function renamed(outputFiles, { inputs, outputs }, here, entry) {
  const page = basename(entry, ".ts");
  const names = new Map();
  let others = 0;
  for (const [path, { entryPoint, inputs: held }] of Object.entries(outputs)) {
    if (entryPoint) names.set(path, entryPoint === entry ? path : path.replace(/-\w+\.js$/, ".js"));
    else names.set(path, entry in held ? `${page}-chunk.js` : `${page}-shared-${++others}.js`);
  }
  if (new Set(names.values()).size < names.size) throw new Error(`two parts of ${page} have one name`);
  const idle = Object.keys(outputs).filter((path) => !Object.keys(outputs[path].inputs).length);
  const rename = (text) => [...names].reduce((all, [path, name]) => all.replaceAll(path, name), text);
  const files = new Map();
  for (const { path, text } of outputFiles) {
    const own = path.slice(here.length + 1);
    const used = idle.reduce((all, one) => all.replaceAll(`import"./${one}";`, ""), text);
    outputs[own].imports = outputs[own].imports.filter(
      ({ path: to }) => !idle.includes(to) || used.includes(to),
    );
    files.set(names.get(own), Buffer.from(rename(used)));
  }
  return { files, metafile: { inputs, outputs: JSON.parse(rename(JSON.stringify(outputs))) } };
}
