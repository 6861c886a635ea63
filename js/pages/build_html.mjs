/** Puts the same head and brand around what each page has of its own. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

const BRAND =
  '<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" stroke-width="2.4"/><path d="M12 3a9 9 0 0 0 0 18z" fill="currentColor"/></svg>Deniable';

/** The text of a page; `first` is the script that its own one imports, to be loaded at once. */
export async function buildPage(here, name, first) {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const body = await readFile(join(here, `${name}/${name}.html`), "utf8");
  const preload = first.map((one) => `<link rel="modulepreload" href="assets/${one}">\n`).join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Deniable</title>
<link rel="icon" href="assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="assets/${name}.css">
${preload}<script type="module" src="assets/${name}.js"></script>
</head>
<body>
${body.replace("<!-- brand -->", BRAND)}</body>
</html>
`;
}
