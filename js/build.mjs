/** Bundles: index.js for programs, tickets.js for plans with tickets, client.js (minified) for pages, node.js for the shell. */

import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const MOST = 120_000; // bytes of what a page loads

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };
await rm("dist", { recursive: true, force: true });
await build({ ...common, entryPoints: ["src/index.ts"], outfile: "dist/index.js" });
await build({ ...common, entryPoints: ["src/page.ts"], outfile: "dist/client.js", minify: true });
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

const { size } = await stat("dist/client.js");
console.log(`client.js: ${size} bytes`);
if (size >= MOST) throw new Error(`client.js must stay below ${MOST} bytes`);
