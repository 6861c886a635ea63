/**
 * Bundles: index.js for programs, tickets.js for plans with tickets, client.js (minified) for pages, node.js for the shell.
 *
 * What only some plans need is in client-rare_kinds.js, which client.js loads for them; what both need is in client-chunk.js.
 */

import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const MOST = 40_000; // bytes of what a page loads at first, and of what it may load later

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
});
await build({ ...common, entryPoints: ["src/tickets.ts"], outfile: "dist/tickets.js" });
await build({ ...common, entryPoints: ["src/node.ts"], outfile: "dist/node.js", platform: "node" });
await writeFile("dist/index.d.ts", 'export * from "./types/index.js";\n');
await writeFile("dist/client.d.ts", 'export * from "./types/page.js";\n');
await writeFile("dist/tickets.d.ts", 'export * from "./types/tickets.js";\n');
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
