/**
 * Writes the pages into the Python package: node build.mjs [folder]. The same sources give the same bytes.
 *
 * A page is one script, and all pages have one stylesheet. What exchanges invitations for tickets is a file of its
 * own, which only studies with tickets load. Messages are a file per language. The types of what a collector answers
 * are made from spec/api.json.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { composeTypes } from "./api_types.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../../src/deniable/collect/pages"));
const PAGES = ["survey", "dashboard", "design"];
const LANGUAGES = ["en", "de", "fr", "es", "pt"];
const MOST = 120_000; // bytes by gzip of all that a survey loads, in any language and with tickets
const BRAND =
  '<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="2.4"/><path d="M12 3a9 9 0 0 0 0 18z" fill="currentColor"/></svg>Deniable';

/** In pages, the script for tickets is a file beside their own. */
const ticketsApart = {
  name: "tickets apart",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/client\/tickets\.js$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./tickets.js", external: true } : undefined,
    ),
};
const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome100", "firefox100", "safari15"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true, // says which libraries are in it
};

const api = JSON.parse(await readFile(join(here, "../../spec/api.json"), "utf8"));
await writeFile(join(here, "kit/api.ts"), composeTypes(api));
await mkdir(folder, { recursive: true });
for (const name of await readdir(folder)) await rm(join(folder, name)); // what is built no more is not served
const scripts = Object.fromEntries(PAGES.map((page) => [page, `${page}/${page}.ts`]));
const pages = await build({
  ...common,
  entryPoints: { ...scripts, pages: "pages.css" },
  outdir: folder,
  plugins: [ticketsApart],
});
const tickets = await build({
  ...common,
  entryPoints: { tickets: "../src/client/tickets.ts" },
  outdir: folder,
});
// the client for the shell: not a page, and not served, but in the package for the demo
await build({
  ...common,
  entryPoints: ["../src/node.ts"],
  outfile: join(folder, "client.mjs"),
  platform: "node",
  target: "es2022",
});
for (const language of LANGUAGES) {
  const messages = JSON.parse(await readFile(join(here, `kit/messages/${language}.json`), "utf8"));
  await writeFile(join(folder, `${language}.json`), JSON.stringify(messages));
}
await writeFile(join(folder, "openapi.json"), JSON.stringify(api)); // a collector hands it out
for (const page of PAGES) await writeFile(join(folder, `${page}.html`), await composePage(page));
await writeFile(join(folder, "notices.txt"), await composeNotices([pages.metafile, tickets.metafile]));

for (const language of LANGUAGES) {
  const names = ["survey.html", "survey.js", "pages.css", `${language}.json`, "tickets.js"];
  const files = await Promise.all(names.map((name) => readFile(join(folder, name))));
  const size = files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
  console.log(`a survey in ${language}: ${size} bytes by gzip`);
  if (size > MOST) throw new Error(`a survey in ${language} must load at most ${MOST} bytes by gzip`);
}

/** The text of a page: the head and the brand, which are those of all pages, around what the page has itself. */
async function composePage(page) {
  const title = page.charAt(0).toUpperCase() + page.slice(1);
  const icon = encodeURIComponent((await readFile(join(here, "kit/icon.svg"), "utf8")).trim());
  const body = await readFile(join(here, `${page}/${page}.html`), "utf8");
  return `<!doctype html>
<html lang="en" class="${page}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Deniable</title>
<link rel="icon" href="data:image/svg+xml,${icon}">
<link rel="stylesheet" href="assets/pages.css">
<script type="module" src="assets/${page}.js"></script>
</head>
<body>
${body.replace("<!-- brand -->", BRAND)}</body>
</html>
`;
}

/** The licenses of the libraries whose files are in a page; they ask to be copied with it. */
async function composeNotices(metafiles) {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.entries(output.inputs)),
  );
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  // a copy of the last one is in the library for tickets
  const paths = [...used, "../node_modules/sjcl/sjcl.js"].map(
    (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1],
  );
  const texts = [...new Set(paths)].filter(Boolean).map(async (path) => {
    const library = join(here, path);
    const { name, license } = JSON.parse(await readFile(join(library, "package.json"), "utf8"));
    const file = (await readdir(library)).find((each) => /^(un)?licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no license to copy`);
    return `${name} (${license})\n\n${(await readFile(join(library, file), "utf8")).trim()}\n`;
  });
  const head = "Libraries in dashboard.js and tickets.js, and their licenses.\n";
  return [head, ...(await Promise.all(texts)).sort()].join(`\n${"-".repeat(70)}\n\n`);
}
