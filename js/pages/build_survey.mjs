/**
 * Builds the survey in parts: what is there before the first question is one file, the rest is loaded on demand.
 *
 * Of the messages, those that occur in that file are loaded at first, and those that occur in fields are loaded
 * with them; so are those that only fields for text have. All others are loaded later.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { transform } from "esbuild";
import { bundleParts, loadedWith } from "./build_parts.mjs";

const ENTRY = "survey/survey.ts";
const TEXT = "survey/question_text.ts";
const FIELDS = ["survey/location.ts", "survey/plans.ts", "survey/question_kinds.ts"]; // parts that only some surveys have before they ask

/** The files by name, those that are loaded before the first question, and esbuild's analysis of the inputs. */
export async function buildSurvey(common, here) {
  const whole = await bundle(common, here, null);
  const { metafile: parts } = whole;
  const outputs = (entries) =>
    Object.keys(parts.outputs).filter((name) => entries.includes(parts.outputs[name].entryPoint));
  const usedIn = (names) => messagesIn(whole, loadedWith(parts, names), here);
  const used = [await usedIn(["survey.js"]), await usedIn(outputs(FIELDS)), await usedIn(outputs([TEXT]))];
  const { files, metafile } = await bundle(common, here, used);
  return { files, metafile, first: loadedWith(metafile, ["survey.js"]) };
}

/** The parts of the survey; `used` are the messages of the first load, of fields and of text, once they are known. */
const bundle = (common, here, used) =>
  bundleParts(common, here, ENTRY, [inGroups(here), ...(used ? [divided(used)] : [])]);

/** What only some plans have is loaded in groups. */
function inGroups(here) {
  const groups = join(here, "../src/plan/rare_groups.ts");
  return {
    name: "in groups",
    setup: ({ onResolve }) => onResolve({ filter: /\/rare_loader\.js$/ }, () => ({ path: groups })),
  };
}

/**
 * Messages that are loaded at first are in en.ts, those of fields in en_fields.ts, the others in en_more.ts; those of
 * them that only fields for text have are in en_texts.ts as well.
 */
function divided([used, usedInFields, usedInTexts]) {
  const isRare = (key) => !used.has(key) && !usedInFields.has(key);
  const holds = {
    file: (key) => used.has(key),
    fields: (key) => !used.has(key) && usedInFields.has(key),
    more: isRare,
    texts: (key) => isRare(key) && usedInTexts.has(key),
  };
  const catalog = async ({ path, namespace }) => {
    const { code } = await transform(await readFile(path, "utf8"), { loader: "ts", format: "esm" });
    const [[tag, messages]] = Object.entries(
      await import(`data:text/javascript,${encodeURIComponent(code)}`),
    );
    const some = Object.entries(messages).filter(([key]) => holds[namespace](key));
    return { contents: `export const ${tag} = ${JSON.stringify(Object.fromEntries(some))};`, loader: "ts" };
  };
  return {
    name: "divided",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\.\/\w\w\.js$/, namespace: "file" }, ({ path, importer, resolveDir }) => {
        const [, namespace] = /_(fields|more|texts)\.ts$/.exec(importer) ?? [];
        return namespace && { path: join(resolveDir, path.replace(".js", ".ts")), namespace };
      });
      onLoad({ filter: /messages.\w\w\.ts$/, namespace: "file" }, catalog);
      for (const namespace of ["fields", "more", "texts"]) onLoad({ filter: /.*/, namespace }, catalog);
    },
  };
}

/** The strings in the code of these files: each may be the name of a message, or of one with a plural. */
async function messagesIn({ metafile }, names, here) {
  const inputs = names.flatMap((name) => Object.entries(metafile.outputs[name].inputs));
  const paths = inputs.filter(
    ([path, { bytesInOutput }]) => /^(survey|kit)\/\w+\.ts$/.test(path) && bytesInOutput > 0,
  );
  const texts = await Promise.all(paths.map(([path]) => readFile(join(here, path), "utf8")));
  for (const [i, text] of texts.entries())
    if (/\b(t|rich|plural)\(\s*`/.test(text) && paths[i][0] !== "kit/messages.ts")
      throw new Error(`${paths[i][0]} puts the name of a message together: write it as one string`);
  const strings = texts.flatMap((text) => Array.from(text.matchAll(/"(\w+)"/g), ([, name]) => name));
  return new Set(strings.flatMap((name) => [name, `${name}_one`, `${name}_other`]));
}
