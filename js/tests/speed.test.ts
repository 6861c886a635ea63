/**
 * Hold the time of one record of ten attributes, all from the secret: some milliseconds, for 10 to 160 calls of
 * WebCrypto.
 */

import { expect, it } from "vitest";
import { makeReport } from "../src/client/client.js";
import { Plan } from "../src/plan/plan.js";
import { Row, remembered } from "../src/randomness/words.js";
import { type Document, FULL, small, units } from "./helpers.js";

const K = 10;
const D = 10;
const REPORTS = 20;
const labels = Array.from({ length: K }, (_, i) => `value ${i}`);
const grr = { k: K, keep: String(FULL / 4n), kind: "direct" };
const oue = { k: K, kind: "unary", one: String(FULL / 2n), zero: String(FULL / 4n) };
const again = { first: oue, kind: "memoized", second: { ...oue, zero: String(FULL / 3n) } };
const all = (one: Document): Document[] => Array.from({ length: D }, () => one);
// Limits are about 5 times the units of work that these reports take on a quiet machine, since calls of WebCrypto
// wait for other threads; what gets 10 times slower is beyond them.
const mechanisms: [string, Document, number | null, number][] = [
  ["SPL[GRR]", { kind: "split", parts: all(grr) }, null, 300],
  ["SPL[OUE]", { kind: "split", parts: all(oue) }, null, 1600],
  ["RS+FD[OUE-z]", { fakes: all({ kind: "blank", part: oue }), kind: "faked" }, null, 1600],
  [
    "SPL[GRR, SMP[OUE]]",
    { kind: "split", parts: [grr, { kind: "sample", parts: all(oue).slice(1), reported: 1 }] },
    null,
    240,
  ],
  ["SMP[L-OUE]", { kind: "sample", parts: all(again), reported: 1 }, 5, 500],
];

it.each(mechanisms)(
  "%s",
  async (name, mechanism, rounds, limit) => {
    const text = await small((data) => {
      data.attributes = labels.map((_, i) => ({
        domain: { kind: "categories", labels },
        name: `attribute ${i}`,
      }));
      const figure = 2 ** 53 - 1;
      const figures = {
        changing_values: null,
        changing_values_usual: null,
        one_report: figure,
        one_value_forever: figure,
        same_value: figure,
      };
      Object.assign(data, {
        rounds,
        mechanism,
        losses: { attribute: figure, record: figure, repeated: rounds ? figures : null },
      });
    });
    const plan = await Plan.fromJson(text);
    const answers = Object.fromEntries(plan.attributes.map((one, i) => [one.name, labels[i]]));
    const memory = await remembered(new Uint8Array(32), plan.id);
    const taken = await units(async () => {
      for (let i = 0; i < REPORTS; i++)
        await makeReport(plan, answers, 1, new Row(new Uint32Array(), memory, 0, 1), (body) =>
          memory(["id", 1, body], 0, 2),
        );
    });
    console.log(`${name}, ${REPORTS} reports: ${taken.toFixed(0)} units of work`);
    expect(taken).toBeLessThan(limit);
  },
  60_000,
);
