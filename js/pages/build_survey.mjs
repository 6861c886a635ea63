/**
 * Builds the survey in parts: what is there before the first question is one file, the rest is loaded on demand.
 *
 * Every part that is loaded on demand imports the entry. So all code that the entry needs is shared by all parts, and
 * esbuild puts it into one chunk. Of the messages, those that occur in that code are loaded at first.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, transform } from "esbuild";

const ENTRY = "survey.ts";
const CHUNK = "survey-chunk.js";

/** The files by name, those that are loaded before the first question, and esbuild's analysis of the inputs. */
export async function buildSurvey(common, here) {
  const whole = await bundle(common, here, null);
  const used = await messagesIn(whole, here);
  const { files, metafile } = await bundle(common, here, used);
  return { files, metafile, first: firstOf(metafile) };
}

async function bundle(common, here, used) {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: [ENTRY],
    outdir: here,
    write: false,
    metafile: true,
    splitting: true,
    chunkNames: "survey-[name]-[hash]",
    plugins: [...(used ? [divided(used)] : []), onDemand(join(here, ENTRY))],
  });
  return renamed(outputFiles, metafile, here);
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

/** Messages that are loaded at first, and the others: en.ts has the ones, en_more.ts the others. */
function divided(used) {
  const catalog = async (path, isUsed) => {
    const { code } = await transform(await readFile(path, "utf8"), { loader: "ts", format: "esm" });
    const [[tag, messages]] = Object.entries(await import(`data:text/javascript,${encodeURIComponent(code)}`));
    const some = Object.entries(messages).filter(([key]) => used.has(key) === isUsed);
    return { contents: `export const ${tag} = ${JSON.stringify(Object.fromEntries(some))};`, loader: "ts" };
  };
  return {
    name: "divided",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/\w\w\.js$/, namespace: "file" }, ({ path, importer, resolveDir }) =>
        importer.endsWith("_more.ts")
          ? { path: join(resolveDir, path.replace(".js", ".ts")), namespace: "more" }
          : undefined,
      );
      onLoad({ filter: /messages.\w\w\.ts$/, namespace: "file" }, ({ path }) => catalog(path, true));
      onLoad({ filter: /.*/, namespace: "more" }, ({ path }) => catalog(path, false));
    },
  };
}

/** The strings in the code that is loaded at first: each may be the name of a message, or of one with a plural. */
async function messagesIn({ metafile }, here) {
  const inputs = firstOf(metafile).flatMap((name) => Object.entries(metafile.outputs[name].inputs));
  const paths = inputs.filter(([path, { bytesInOutput }]) => /^\w+\.ts$/.test(path) && bytesInOutput > 0);
  const texts = await Promise.all(paths.map(([path]) => readFile(join(here, path), "utf8")));
  for (const [i, text] of texts.entries())
    if (/\b(t|rich|plural)\(\s*`/.test(text) && paths[i][0] !== "messages.ts")
      throw new Error(`${paths[i][0]} puts the name of a message together: write it as one string`);
  const strings = texts.flatMap((text) => Array.from(text.matchAll(/"(\w+)"/g), ([, name]) => name));
  return new Set(strings.flatMap((name) => [name, `${name}_one`, `${name}_other`]));
}

/** The files that are loaded before the first question, but for the language: the entry and all that it imports. */
function firstOf({ outputs }) {
  const found = new Set([ENTRY.replace(".ts", ".js")]);
  for (const name of found)
    for (const { path, kind } of outputs[name].imports) if (kind === "import-statement") found.add(path);
  return [...found];
}

/**
 * Names without hashes, which stay when the content changes. A chunk of no input holds only functions of esbuild;
 * parts that use none of them do not load it.
 */
function renamed(outputFiles, { inputs, outputs }, here) {
  const names = new Map();
  let others = 0;
  for (const [path, { entryPoint, inputs: held }] of Object.entries(outputs)) {
    if (entryPoint) names.set(path, entryPoint === ENTRY ? path : path.replace(/-\w+\.js$/, ".js"));
    else names.set(path, ENTRY in held ? CHUNK : `survey-shared-${++others}.js`);
  }
  const idle = Object.keys(outputs).filter((path) => !Object.keys(outputs[path].inputs).length);
  const rename = (text) => [...names].reduce((all, [path, name]) => all.replaceAll(path, name), text);
  const files = new Map();
  for (const { path, text } of outputFiles) {
    const own = path.slice(here.length + 1);
    const used = idle.reduce((all, one) => all.replaceAll(`import"./${one}";`, ""), text);
    outputs[own].imports = outputs[own].imports.filter(({ path: to }) => !idle.includes(to) || used.includes(to));
    files.set(names.get(own), Buffer.from(rename(used)));
  }
  return { files, metafile: { inputs, outputs: JSON.parse(rename(JSON.stringify(outputs))) } };
}
