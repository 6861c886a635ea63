/** Writes the pages into the Python package: node build.mjs [folder]. The same sources give the same bytes. */

import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { buildPage } from "./build_html.mjs";
import { bundleParts } from "./build_parts.mjs";
import { buildSurvey } from "./build_survey.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../../src/deniable/collect/pages"));
const FIRST = 35_000; // bytes by gzip of all script that a survey loads before it asks, with one language
const MOST = {
  "survey-report.js": 45_000,
  "survey-distance_kinds.js": 20_000,
  "survey-location.js": 16_000,
  "survey-question_kinds.js": 8_000,
  "survey-tickets.js": 50_000,
  "dashboard.js dashboard-chunk.js": 90_000, // before the first results
  "dashboard-attribute_panel.js": 290_000,
  "design.js": 60_000,
}; // bytes
const LANGUAGES = ["en", "de", "fr", "es", "pt"];

await mkdir(folder, { recursive: true });
for (const name of await readdir(folder)) // a part that is built no more must not be served any longer
  if (/^(survey|dashboard|design)(-.*)?\.js$/.test(name)) await rm(join(folder, name));
const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};
const survey = await buildSurvey(common, here);
const dashboard = await bundleParts(common, here, "dashboard/dashboard.ts");
for (const [name, content] of [...survey.files, ...dashboard.files])
  await writeFile(join(folder, name), content);
const { metafile } = await build({
  ...common,
  entryPoints: [
    "design/design.ts",
    "survey/preview.ts",
    "survey/survey.css",
    "dashboard/dashboard.css",
    "design/design.css",
  ],
  entryNames: "[name]",
  outdir: folder,
  metafile: true, // says which libraries are in it
});
const parts = [metafile, survey.metafile, dashboard.metafile].flatMap(({ outputs }) =>
  Object.values(outputs).flatMap(({ inputs }) => Object.entries(inputs)),
);
const used = parts.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
// a copy of this one is in the library for tickets
await writeFile(join(folder, "notices.txt"), await notices([...used, "../node_modules/sjcl/sjcl.js"]));
await build({
  ...common,
  entryPoints: ["../src/node.ts"], // the client for the shell: not a page, and not served, but in the package for the demo
  outfile: join(folder, "client.mjs"),
  platform: "node",
});
const FIRST_SCRIPTS = { survey: ["survey-chunk.js"], dashboard: ["dashboard-chunk.js"], design: [] };
for (const [name, first] of Object.entries(FIRST_SCRIPTS))
  await writeFile(join(folder, `${name}.html`), await buildPage(here, name, first));
await writeFile(join(folder, "icon.svg"), await readFile(join(here, "kit/icon.svg")));
for (const [names, most] of Object.entries(MOST)) {
  const sizes = await Promise.all(
    names.split(" ").map(async (name) => (await stat(join(folder, name))).size),
  );
  const size = sizes.reduce((sum, one) => sum + one);
  console.log(`${names}: ${size} bytes`);
  if (size > most) throw new Error(`${names} must stay below ${most} bytes`);
}

for (const language of LANGUAGES) {
  const texts = [...survey.first, `survey-${language}.js`].map((name) => survey.files.get(name));
  const [raw, sent] = [texts, texts.map((text) => gzipSync(text, { level: 9 }))].map((each) =>
    each.reduce((sum, { length }) => sum + length, 0),
  );
  console.log(`first load, ${language}: ${raw} bytes, ${sent} by gzip`);
  if (sent > FIRST) throw new Error(`a survey in ${language} must load at most ${FIRST} bytes by gzip first`);
}

/** The licenses of the libraries whose files are in a page; they ask to be copied with it. */
async function notices(inputs) {
  const paths = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const texts = [...new Set(paths)].filter(Boolean).map(async (path) => {
    const library = join(here, path);
    const { name, license } = JSON.parse(await readFile(join(library, "package.json"), "utf8"));
    const file = (await readdir(library)).find((each) => /^(un)?licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no license to copy`);
    return `${name} (${license})\n\n${(await readFile(join(library, file), "utf8")).trim()}\n`;
  });
  const head = "Libraries in dashboard-attribute_panel.js and survey-tickets.js, and their licenses.\n";
  return [head, ...(await Promise.all(texts)).sort()].join(`\n${"-".repeat(70)}\n\n`);
}
