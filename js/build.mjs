/**
 * Bundles: index.js for programs, tickets.js for plans with tickets, client.js (minified) for pages, node.js for the shell.
 *
 * What only some plans need is in client-rare_kinds.js, which client.js loads for them. What only text needs is in
 * client-text_kinds.js, and what only smooth ranges need in client-wave_kinds.js, which that one loads. What all of
 * them need is in client-chunk.js.
 */

import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { build } from "esbuild";

const MOST = 120_000; // bytes of what a page loads at first, and of what it may load later

// parts that are loaded on demand import the entry, so that all code that it needs is one chunk
const withEntry = {
  name: "with entry",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\.\/page\.js$/ }, () => ({ path: resolve("src/page.ts"), sideEffects: true }));
    onLoad({ filter: /(rare|text|wave)_kinds\.ts$/ }, async ({ path }) => ({
      contents: `${await readFile(path, "utf8")}\nimport "../page.js";`,
      loader: "ts",
    }));
  },
};
const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };
await rm("dist", { recursive: true, force: true });
await build({ ...common, entryPoints: ["src/index.ts"], outfile: "dist/index.js" });
await build({
  ...common,
  entryPoints: { client: "src/page.ts" },
  outdir: "dist",
  minify: true,
  splitting: true,
  chunkNames: "client-[name]",
  plugins: [withEntry],
  logOverride: { "ignored-bare-import": "silent" }, // it is not ignored, as the sizes show
});
await build({ ...common, entryPoints: ["src/client/tickets.ts"], outfile: "dist/tickets.js" });
await build({ ...common, entryPoints: ["src/node.ts"], outfile: "dist/node.js", platform: "node" });
await writeFile("dist/index.d.ts", 'export * from "./types/index.js";\n');
await writeFile("dist/client.d.ts", 'export * from "./types/page.js";\n');
await writeFile("dist/tickets.d.ts", 'export * from "./types/client/tickets.js";\n');
const notices = ["@cloudflare/blindrsa-ts", "sjcl"].map(async (name) => {
  const license = await readFile(`node_modules/${name}/LICENSE.txt`, "utf8");
  return `${name}\n\n${license.trim()}\n`;
});
await writeFile("dist/notices.txt", `Libraries in tickets.js.\n\n${(await Promise.all(notices)).join("\n")}`);
await chmod("dist/node.js", 0o755);

const size = async (...names) => {
  const found = await Promise.all(names.map(async (name) => (await stat(`dist/${name}.js`)).size));
  const all = found.reduce((sum, one) => sum + one);
  console.log(`${names.join(" and ")}: ${all} bytes`);
  if (all >= MOST) throw new Error(`${names.join(" and ")} must stay below ${MOST} bytes`);
};
await size("client", "client-chunk");
await size("client-rare_kinds");
await size("client-text_kinds");
await size("client-wave_kinds");
