/**
 * The rooms of the client and of the pages: which may import which, and that no files import each other in a circle,
 * by type or at run time.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** From top to bottom: a file imports only from its own room and from those below. Files of no room are the ground. */
const ROOMS = [
  "pages/survey",
  "pages/dashboard",
  "pages/design",
  "pages/kit",
  "src",
  "src/client",
  "src/plan",
  "src/losses",
  "src/records",
  "src/mechanisms",
  "src/domains",
  "src/randomness",
  "ground",
];
const DOORS = ["src/index.ts", "src/node.ts", "src/page.ts"];
/** Rooms that are beside each other, so that neither imports from the other. */
const APART = [["pages/survey", "pages/dashboard", "pages/design"]];
const IMPORT = /(?:^\s*(?:import|export)\b[^;]*?from|^\s*import|import\()\s*["'](\.[^"']+)["']/gm;

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Every source, and what it imports. */
const readGraph = (): Map<string, Set<string>> => {
  const graph = new Map<string, Set<string>>();
  for (const folder of ["src", "pages/survey", "pages/dashboard", "pages/design", "pages/kit"])
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      const path = join(folder, name).split(sep).join("/");
      graph.set(path, new Set(readImports(path)));
    }
  return graph;
};

const readImports = (path: string): string[] =>
  [...readFileSync(join(ROOT, path), "utf8").matchAll(IMPORT)]
    .map(([, target]) => relative(ROOT, join(ROOT, dirname(path), target as string)))
    .filter((target) => target.endsWith(".js"))
    .map((target) => target.split(sep).join("/").replace(/\.js$/, ".ts"));

const roomOf = (path: string): string => {
  const folder = dirname(path);
  return folder === "src" && !DOORS.includes(path) ? "ground" : folder;
};

/** Imports that go up, or from a room to one that it is apart from. */
const findClimbs = (graph: Graph): string[] =>
  [...graph].flatMap(([path, targets]) =>
    [...targets]
      .filter((target) => {
        const [from, to] = [roomOf(path), roomOf(target)];
        const isApart = from !== to && APART.some((rooms) => rooms.includes(from) && rooms.includes(to));
        return isApart || ROOMS.indexOf(to) < ROOMS.indexOf(from);
      })
      .map((target) => `${path} imports ${target}`),
  );

/**
 * Files whose imports lead into a circle: what is left when files that import none of the others are taken away, again
 * and again.
 */
const findCircles = (graph: Graph): string[] => {
  const left = new Map([...graph].map(([path, targets]) => [path, new Set(targets)]));
  const isLeaf = ([, targets]: [string, ReadonlySet<string>]): boolean =>
    ![...targets].some((target) => left.has(target));
  for (let leaves = [...left].filter(isLeaf); leaves.length; leaves = [...left].filter(isLeaf))
    for (const [path] of leaves) left.delete(path);
  return [...left.keys()].sort();
};

describe("the rooms of the client and the pages", () => {
  const graph = readGraph();

  it("have every file, and every import leads to a file", () => {
    expect(graph.size).toBeGreaterThan(80);
    const strangers = [...graph.keys()].filter((path) => !ROOMS.includes(roomOf(path)));
    expect(strangers).toEqual([]);
    const missing = [...graph.values()].flatMap((targets) =>
      [...targets].filter((target) => !graph.has(target)),
    );
    expect(missing).toEqual([]);
  });

  it("have no circle of files", () => {
    expect(findCircles(graph)).toEqual([]);
  });

  it("import downward only", () => {
    expect(findClimbs(graph)).toEqual([]);
  });

  it("would be found to have a circle, and to import upward", () => {
    const planted = new Map(graph);
    planted.set("src/domains/range.ts", new Set(["src/domains/domain.ts"]));
    expect(findCircles(planted)).toEqual(
      expect.arrayContaining(["src/domains/domain.ts", "src/domains/range.ts"]),
    );
    planted.set("src/domains/range.ts", new Set(["src/plan/plan.ts"]));
    expect(findClimbs(planted)).toEqual(["src/domains/range.ts imports src/plan/plan.ts"]);
    planted.set("src/domains/range.ts", new Set());
    planted.set("pages/design/design.ts", new Set(["pages/survey/question.ts"]));
    expect(findClimbs(planted)).toEqual(["pages/design/design.ts imports pages/survey/question.ts"]);
  });
});

describe("names", () => {
  /** Variables are called what they hold; these words hold anything. */
  const VAGUE = "one|found|told|some|own|held|asked|given";
  const BOUND = new RegExp(`(?:\\b(?:const|let) |\\((?=\\w+\\) =>))(?:${VAGUE})\\b`);

  it("say what a variable holds", () => {
    const vague = [...readGraph().keys()].flatMap((path) =>
      readFileSync(join(ROOT, path), "utf8")
        .split("\n")
        .filter((line) => BOUND.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
    expect(vague).toEqual([]);
  });

  it("that say nothing would be seen", () => {
    for (const line of ["const found = 1;", "  let some = [];", "list.map((one) => one.name)"])
      expect(line).toMatch(BOUND);
    for (const line of ["const owner = 1;", "list.some((each) => each)", "{ one: 1 }"])
      expect(line).not.toMatch(BOUND);
  });
});
