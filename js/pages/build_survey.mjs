/**
 * Builds the survey in parts: what is there before the first question is one file, the rest is loaded on demand.
 *
 * Every part that is loaded on demand imports the entry. So all code that the entry needs is shared by all parts, and
 * esbuild puts it into one chunk. Of the messages, those that occur in that code are loaded at first, and those that
 * occur in fields are loaded with them.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, transform } from "esbuild";

const ENTRY = "survey.ts";
const CHUNK = "survey-chunk.js";
const FIELDS = ["location.ts", "question_kinds.ts"]; // parts that are loaded before the first question, for some plans

/** The files by name, those that are loaded before the first question, and esbuild's analysis of the inputs. */
export async function buildSurvey(common, here) {
  const whole = await bundle(common, here, null);
  const fields = Object.entries(whole.metafile.outputs).filter(([, one]) => FIELDS.includes(one.entryPoint));
  const used = await messagesIn(whole, loadedWith(whole.metafile, ["survey.js"]), here);
  const usedInFields = await messagesIn(
    whole,
    loadedWith(
      whole.metafile,
      fields.map(([name]) => name),
    ),
    here,
  );
  const { files, metafile } = await bundle(common, here, [used, usedInFields]);
  return { files, metafile, first: loadedWith(metafile, ["survey.js"]) };
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
    plugins: [inGroups(here), ...(used ? [divided(used)] : []), onDemand(join(here, ENTRY))],
  });
  return renamed(outputFiles, metafile, here);
}

/** What only some plans have is loaded in groups. */
function inGroups(here) {
  const groups = join(here, "../src/rare_groups.ts");
  return {
    name: "in groups",
    setup: ({ onResolve }) => onResolve({ filter: /\/rare_loader\.js$/ }, () => ({ path: groups })),
  };
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

/** Messages that are loaded at first are in en.ts, those of fields in en_fields.ts, the others in en_more.ts. */
function divided([used, usedInFields]) {
  const partOf = (key) => (used.has(key) ? "file" : usedInFields.has(key) ? "fields" : "more");
  const catalog = async ({ path, namespace }) => {
    const { code } = await transform(await readFile(path, "utf8"), { loader: "ts", format: "esm" });
    const [[tag, messages]] = Object.entries(
      await import(`data:text/javascript,${encodeURIComponent(code)}`),
    );
    const some = Object.entries(messages).filter(([key]) => partOf(key) === namespace);
    return { contents: `export const ${tag} = ${JSON.stringify(Object.fromEntries(some))};`, loader: "ts" };
  };
  return {
    name: "divided",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/\w\w\.js$/, namespace: "file" }, ({ path, importer, resolveDir }) =>
        /_(fields|more)\.ts$/.test(importer)
          ? {
              path: join(resolveDir, path.replace(".js", ".ts")),
              namespace: importer.endsWith("_more.ts") ? "more" : "fields",
            }
          : undefined,
      );
      onLoad({ filter: /messages.\w\w\.ts$/, namespace: "file" }, catalog);
      for (const namespace of ["fields", "more"]) onLoad({ filter: /.*/, namespace }, catalog);
    },
  };
}

/** The strings in the code of these files: each may be the name of a message, or of one with a plural. */
async function messagesIn({ metafile }, names, here) {
  const inputs = names.flatMap((name) => Object.entries(metafile.outputs[name].inputs));
  const paths = inputs.filter(([path, { bytesInOutput }]) => /^\w+\.ts$/.test(path) && bytesInOutput > 0);
  const texts = await Promise.all(paths.map(([path]) => readFile(join(here, path), "utf8")));
  for (const [i, text] of texts.entries())
    if (/\b(t|rich|plural)\(\s*`/.test(text) && paths[i][0] !== "messages.ts")
      throw new Error(`${paths[i][0]} puts the name of a message together: write it as one string`);
  const strings = texts.flatMap((text) => Array.from(text.matchAll(/"(\w+)"/g), ([, name]) => name));
  return new Set(strings.flatMap((name) => [name, `${name}_one`, `${name}_other`]));
}

/** These files and all that they import; of the entry, what is loaded before the first question but for the language. */
function loadedWith({ outputs }, names) {
  const found = new Set(names);
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
  if (new Set(names.values()).size < names.size) throw new Error("two parts of the survey have one name");
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
