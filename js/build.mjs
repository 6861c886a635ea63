/** Bundles: index.js for programs, client.js (minified) for pages, node.js for the shell. */

import { chmod, rm, stat, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const MOST = 30_000; // bytes of the bundle for pages

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };
await rm("dist", { recursive: true, force: true });
await build({ ...common, entryPoints: ["src/index.ts"], outfile: "dist/index.js" });
await build({ ...common, entryPoints: ["src/page.ts"], outfile: "dist/client.js", minify: true });
await build({ ...common, entryPoints: ["src/node.ts"], outfile: "dist/node.js", platform: "node" });
await writeFile("dist/index.d.ts", 'export * from "./types/index.js";\n');
await writeFile("dist/client.d.ts", 'export * from "./types/page.js";\n');
await chmod("dist/node.js", 0o755);

const { size } = await stat("dist/client.js");
console.log(`dist/client.js has ${size} bytes`);
if (size > MOST) throw new Error(`the bundle for pages must stay below ${MOST} bytes`);
