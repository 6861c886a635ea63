import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../src/client/client.js";
import { Ledger, memoryStore, refuseAboveCap, type Store } from "../src/client/ledger.js";
import { fromBytes } from "../src/client/report.js";
import { AboveCap, InvalidParameter, InvalidValue, NotSent } from "../src/errors.js";
import { Plan } from "../src/plan/plan.js";
import { type Document, FRESH, FULL, small } from "./helpers.js";

const unary = (k: number, one: bigint, zero: bigint): Document => ({
  k,
  kind: "unary",
  one: String(one),
  zero: String(zero),
});

/** A plan that asks three times, with a permanent answer. */
const repeated = (losses: Document = {}): Promise<string> =>
  small((data) => {
    const [first, second] = [unary(3, (FULL * 3n) / 4n, FULL / 4n), unary(3, (FULL * 2n) / 3n, FULL / 3n)];
    const figure = 3_900_000_000;
    data.mechanism.parts = [{ first, kind: "memoized", second }];
    data.rounds = 3;
    const figures = {
      changing_values: figure,
      changing_values_usual: 2 ** 53 - 1,
      one_report: figure,
      one_value_forever: 2197224578,
      same_value: figure,
    };
    data.losses = { attribute: figure, record: figure, repeated: { ...figures, ...losses } };
  });

describe("a client", () => {
  it("draws one report for a plan and a round, however often it is asked", async () => {
    const client = await Client.open(await small(), FRESH);
    const reports = await Promise.all(Array.from({ length: 20 }, () => client.report({ color: "red" })));
    expect(new Set(reports.map((report) => report.json)).size).toBe(1);
    expect((await client.report({ color: "blue" })).json).toBe(reports[0]?.json);
    expect(client.ledger.entries.length).toBe(1);
  });

  it("draws anew for another device", async () => {
    const plan = await Plan.fromJson(await small());
    const said = new Set<number>();
    for (let i = 0; i < 200; i++)
      said.add((await new Client(plan, FRESH).report({ color: "red" })).bytes[29] as number);
    expect([...said].sort()).toEqual([0, 1, 2]);
  });

  it("answers every round of a plan that asks again, and no other", async () => {
    const client = await Client.open(await repeated(), { secret: "07".repeat(32) });
    for (const round of [1, 2, 3])
      expect((await client.report({ color: "red" }, { round })).round).toBe(round);
    for (const round of [0, 4, 1.5, Number.NaN])
      await expect(client.report({ color: "red" }, { round })).rejects.toThrow("round");
    await expect(client.report({ color: "red" })).rejects.toThrow("this plan has rounds 1 to 3: say which");
  });

  it("refuses answers that are none", async () => {
    const client = await Client.open(await small(), FRESH);
    for (const answers of [{}, { color: null }, { color: "pink" }, null, [], "red"]) {
      await expect(client.report(answers as Document)).rejects.toThrow(InvalidValue);
    }
    for (const answers of [{ colour: "red" }, { color: "red", shoes: 43 }]) {
      await expect(client.report(answers as Document)).rejects.toThrow("is not asked (");
    }
    expect(client.ledger.entries.length).toBe(0);
  });

  it("refuses them also where the round was answered, as in Python", async () => {
    const client = await Client.open(await small(), FRESH);
    const { json } = await client.report({ color: "red" });
    for (const answers of [{}, { color: "pink" }, null]) {
      await expect(client.report(answers as Document)).rejects.toThrow(InvalidValue);
    }
    await expect(client.report({ color: "red", shoes: 43 })).rejects.toThrow(InvalidParameter);
    expect((await client.report({ color: "blue" })).json).toBe(json);
  });

  it("takes missing answers as the plan says", async () => {
    const random = await Client.open(await small((data) => (data.missing = "random")), FRESH);
    expect((await random.report({ color: null })).readable.length).toBe(1);
    const left = await Client.open(await small((data) => (data.missing = "random")), FRESH);
    expect((await left.report({})).readable.length).toBe(1);
    const value = await Plan.fromJson(
      await small((data) => {
        data.missing = "value";
        data.attributes[0].domain.labels.pop();
      }),
    );
    expect(value.attributes[0]?.labels).toEqual(["red", "green", "no answer"]);
    expect((await new Client(value, FRESH).report({ color: "" })).readable.length).toBe(1);
    expect(value.encode({})).toEqual([2]); // one that is left out is no answer
    expect((await new Client(value, FRESH).report({})).readable.length).toBe(1);
    await expect(new Client(value, FRESH).report({ colour: "red" })).rejects.toThrow(InvalidParameter);
  });

  it("gives the same bytes for the same secret and answers, for ever", async () => {
    const plan = await Plan.fromJson(await small());
    const secret = new Uint8Array(32);
    const reports = new Set<string>();
    for (let object = 0; object < 100; object++)
      reports.add((await new Client(plan, { secret }).report({ color: "red" })).json);
    expect(reports.size).toBe(1);
  });

  it("draws anew only where that is asked for by name", async () => {
    const plan = await Plan.fromJson(await small());
    expect(() => new Client(plan)).toThrow(
      "a device must keep a secret (32 random bytes), or a ledger, or say fresh",
    );
    const [one, two] = await Promise.all(
      [1, 2].map(async () => (await new Client(plan, FRESH).report({ color: "red" })).id),
    );
    expect(one).not.toBe(two);
  });

  it("refuses to ask again what it would answer anew each time", async () => {
    const plan = await Plan.fromJson(await repeated());
    for (const given of [{}, FRESH])
      expect(() => new Client(plan, given)).toThrow(
        "a device must keep a secret (32 random bytes), or a ledger",
      );
    expect(() => new Client(plan, { cap: 1e9 })).toThrow(InvalidParameter);
    await expect(Client.open(await repeated())).rejects.toThrow(InvalidParameter);
    expect(new Client(plan, { ledger: new Ledger() }).plan).toBe(plan);
    expect(new Client(plan, { secret: new Uint8Array(32) }).plan).toBe(plan);
  });

  it("refuses a secret that is none", async () => {
    const plan = await Plan.fromJson(await small());
    expect(() => new Client(plan, { secret: "xy" })).toThrow(InvalidParameter);
    await expect(new Client(plan, { secret: new Uint8Array(8) }).report({ color: "red" })).rejects.toThrow(
      "16 bytes",
    );
    expect(() => new Client({} as Plan)).toThrow(InvalidParameter);
  });
});

describe("a ledger", () => {
  it("remembers reports, losses and a secret, and never an answer", async () => {
    const texts = new Map<string, string>();
    const store: Store = {
      get: (key) => texts.get(key) ?? null,
      set: (key, text) => void texts.set(key, text),
      remove: (key) => void texts.delete(key),
    };
    const ledger = new Ledger(store);
    const plan = await Plan.fromJson(
      await small((data) => (data.attributes[0].domain.labels = ["Xred", "Xgreen", "Xblue"])),
    );
    const report = await new Client(plan, { ledger }).report({ color: "Xgreen" });
    expect([...texts.values()].join()).not.toContain("Xgreen");
    const later = new Ledger(store);
    expect(later.secret).toEqual(ledger.secret);
    expect(later.secret.length).toBe(32);
    expect((await new Client(plan, { ledger: later }).report({ color: "Xred" })).bytes).toEqual(report.bytes);
    expect(fromBytes(plan, later.find(plan, 1) as Uint8Array).json).toBe(report.json);
    expect(later.entries).toEqual([
      {
        plan: plan.id,
        title: "Colors",
        round: 1,
        report: expect.any(String),
        unchanged: 1098612289,
        changing: 1098612289,
      },
    ]);
    await later.forget();
    expect(texts.size).toBe(0);
    expect(new Ledger(store).secret).not.toEqual(report.bytes);
    expect(ledger.entries).toEqual([]);
  });

  it("starts again where another page forgets everything meanwhile", async () => {
    const store = memoryStore();
    const secretNow = (): string => JSON.parse(store.get("deniable") as string).secret;
    const plan = await Plan.fromJson(await repeated());
    const client = new Client(plan, { ledger: new Ledger(store) });
    const before = secretNow();
    await new Ledger(store).forget();
    await client.report({ color: "red" }, { round: 1 }); // with the new secret: the one that is kept
    const after = secretNow();
    expect(after).not.toBe(before);
    const keys: string[] = [];
    const original = crypto.subtle.importKey.bind(crypto.subtle) as Document;
    vi.spyOn(crypto.subtle, "importKey").mockImplementation(async (...given: Document[]) => {
      keys.push(Array.from(given[1] as Uint8Array, (byte) => byte.toString(16).padStart(2, "0")).join(""));
      if (keys.length === 1) await new Ledger(store).forget();
      return original(...given);
    });
    await client.report({ color: "red" }, { round: 2 });
    vi.restoreAllMocks();
    expect(keys).toEqual([after, secretNow()]);
    expect(secretNow()).not.toBe(after);
    expect(new Ledger(store).entries.map(({ round }) => round)).toEqual([2]);
  });

  it("forgets when nobody is making a report", async () => {
    const order: string[] = [];
    let last: Promise<unknown> = Promise.resolve();
    const alone = <T>(work: () => Promise<T>): Promise<T> => {
      const turn = last.then(work);
      last = turn.catch(() => undefined);
      return turn;
    };
    const store: Store = { ...memoryStore(), alone };
    const made = (await Client.open(await small(), { ledger: new Ledger(store) })).report({ color: "red" });
    await Promise.resolve();
    const gone = new Ledger(store).forget();
    await Promise.all([made.then(() => order.push("made")), gone.then(() => order.push("gone"))]);
    expect(order).toEqual(["made", "gone"]);
    expect(store.get("deniable")).toBe(null);
  });

  it("adds up over studies; the rounds of one count once", async () => {
    const ledger = new Ledger();
    ledger.cap = 1e9;
    await (await Client.open(await small(), { ledger })).report({ color: "red" });
    const again = await Client.open(await repeated(), { ledger });
    await again.report({ color: "red" }, { round: 1 });
    await again.report({ color: "red" }, { round: 2 });
    expect(ledger.lifetime()).toEqual({
      studies: 2,
      reports: 3,
      unchanged: 1098612289 + 3_900_000_000,
      changing: 1098612289 + 3_900_000_000,
    });
    const unbounded = await Client.open(await repeated({ changing_values: null }), { ledger, cap: Infinity });
    await unbounded.report({ color: "red" }, { round: 1 });
    expect(ledger.lifetime()).toMatchObject({
      studies: 3,
      unchanged: 1098612289 + 2 * 3_900_000_000,
      changing: null,
    });
  });

  it("counts a changed answer as a second report, which is asked for by name", async () => {
    const ledger = new Ledger();
    const client = await Client.open(await small(), { ledger });
    const first = await client.report({ color: "red" });
    expect((await client.report({ color: "blue" })).json).toBe(first.json);
    expect((await client.report({ color: "red" }, { change: true })).json).toBe(first.json);
    expect(ledger.lifetime()).toMatchObject({ reports: 1, changing: 1098612289 });
    // some devices report two answers alike; then nothing is new
    const colors = ["red", "green", "blue"];
    let most = 0;
    for (let device = 0; device < 10; device++) {
      const one = await Client.open(await small(), { secret: new Uint8Array(32).fill(device), planCap: 3.3 });
      const own = one.ledger;
      const said = new Set<string>();
      for (const color of [...colors, ...colors])
        said.add((await one.report({ color }, { change: true })).json);
      expect(own.entries.length).toBe(said.size);
      expect(own.lifetime().changing).toBe(said.size * 1098612289);
      most = Math.max(most, said.size);
    }
    expect(most).toBeGreaterThan(1);
    const again = await Client.open(await repeated(), { ledger, cap: 100 });
    await expect(again.report({ color: "red" }, { round: 1, change: true })).rejects.toThrow(
      InvalidParameter,
    );
  });

  it("refuses a changed answer above the cap", async () => {
    let refused = 0;
    for (let device = 0; device < 10; device++) {
      const client = await Client.open(await small(), {
        secret: new Uint8Array(32).fill(device),
        planCap: 2,
      });
      await client.report({ color: "red" });
      const changed = client.report({ color: "blue" }, { change: true });
      await changed.catch((problem) => {
        expect(problem).toBeInstanceOf(AboveCap);
        refused++;
      });
    }
    expect(refused).toBeGreaterThan(0); // the same ones always: their secrets are
    expect(refused).toBeLessThan(10);
  });

  it("allows 4 nats in a study, and more on purpose", async () => {
    const above = await small((data) => (data.losses.record = 4_000_000_001));
    const plans = [above, await repeated({ changing_values: 4_000_000_001 })];
    for (const plan of plans) {
      for (const given of [{ secret: new Uint8Array(32) }, { ledger: new Ledger() }]) {
        await expect(Client.open(plan, given)).rejects.toThrow("its cap is 4");
        const more = "ledger" in given ? { cap: 4.1 } : { planCap: 4.1 };
        await expect(Client.open(plan, { ...given, ...more })).resolves.toBeTruthy();
      }
    }
    const exact = await small((data) => (data.losses.record = 4_000_000_000));
    await expect(Client.open(exact, FRESH)).resolves.toBeTruthy();
  });

  it("caps what a device gives away in its lifetime", async () => {
    const ledger = new Ledger();
    ledger.cap = 2;
    const client = await Client.open(await small(), { ledger });
    const other = await Client.open(await small((data) => (data.title = "Another")), { ledger });
    await client.report({ color: "red" });
    await expect(other.report({ color: "red" })).rejects.toThrow(AboveCap);
    await expect(Client.open(await small((data) => (data.title = "Third")), { ledger })).rejects.toThrow(
      "its cap is 2",
    );
    await expect(client.report({ color: "red" })).resolves.toBeTruthy(); // made already
    await expect(Client.open(await small(), { ...FRESH, planCap: 1.098612288 })).rejects.toThrow(AboveCap);
    await expect(Client.open(await small(), { ...FRESH, planCap: 1.098612289 })).resolves.toBeTruthy();
    await expect(
      Client.open(await repeated({ changing_values: null }), { ledger: new Ledger(), cap: 1000 }),
    ).rejects.toThrow("without a bound");
    for (const cap of [0, -1, Number.NaN]) {
      await expect(Client.open(await small(), { ...FRESH, planCap: cap })).rejects.toThrow(InvalidParameter);
      expect(() => (ledger.cap = cap)).toThrow(InvalidParameter);
    }
    ledger.cap = 0.5;
    // answered already: nothing more is lost
    await expect(Client.open(await small(), { ledger })).resolves.toBeTruthy();
    ledger.cap = null;
    expect(ledger.cap).toBe(4);
    await expect(other.report({ color: "red" })).resolves.toBeTruthy(); // the person allows it now
  });

  it("gives away 4 nats over all studies, which differ in their titles", async () => {
    const ledger = new Ledger();
    const answer = async (title: string): Promise<string> => {
      const client = await Client.open(await small((data) => (data.title = title)), { ledger });
      return (await client.report({ color: "red" })).json;
    };
    const first = [await answer("1"), await answer("2"), await answer("3")]; // ln 3 each
    for (let title = 4; title < 20; title++)
      await expect(answer(`${title}`)).rejects.toThrow("up to 4.39445 over all studies, and its cap is 4");
    expect([await answer("1"), await answer("2"), await answer("3")]).toEqual(first);
    const waiting = await Client.open(await small((data) => (data.title = "4")), { ledger, cap: 4.4 });
    ledger.cap = 5;
    await answer("5");
    await expect(waiting.report({ color: "red" })).rejects.toThrow(AboveCap); // another page spent what was left
  });

  it("refuses plans that are asked together by their sum", async () => {
    const plans = await Promise.all(
      [3, 2].map(async (nats) => Plan.fromJson(await small((data) => (data.losses.record = nats * 1e9)))),
    );
    const ledger = new Ledger();
    for (const plan of plans) expect(() => refuseAboveCap(ledger, [plan])).not.toThrow();
    expect(() => refuseAboveCap(ledger, plans)).toThrow("up to 5.00000 over all studies, and its cap is 4");
    ledger.cap = 5;
    expect(() => refuseAboveCap(ledger, plans)).not.toThrow();
  });

  it("takes a cap over all studies with a ledger, and one of a plan without", async () => {
    const plan = await small();
    await expect(Client.open(plan, { ...FRESH, cap: 1 })).rejects.toThrow("only a ledger adds them up");
    await expect(Client.open(plan, { ledger: new Ledger(), planCap: 1 })).rejects.toThrow("ledger.cap = 1");
  });

  it("refuses to guess what a damaged text meant, and to answer what is not kept", async () => {
    for (const text of [
      "",
      "{}",
      "null",
      '{"version":2,"secret":"","entries":[]}',
      `{"version":1,"secret":"${"0".repeat(64)}","entries":[{}]}`,
      ...[-1, -1e12].map(
        (loss) =>
          `{"version":1,"secret":"${"0".repeat(64)}","entries":[{"plan":"p","title":"","round":1,"report":"00","unchanged":${loss},"changing":1}]}`,
      ),
    ]) {
      const store = memoryStore();
      store.set("deniable", text);
      expect(() => new Ledger(store).secret).toThrow("damaged");
      expect(store.get("deniable")).toBe(text);
    }
    const full: Store = { get: () => null, set: () => undefined, remove: () => undefined };
    await expect(Client.open(await small(), { ledger: new Ledger(full) })).rejects.toThrow("storage");
  });
});

describe("sending", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  const answering = (...answers: (Response | Error)[]): Document[] => {
    const calls: Document[] = [];
    vi.stubGlobal("fetch", async (url: string, options: RequestInit) => {
      calls.push({ url, ...options });
      const answer = answers[calls.length - 1];
      if (!answer || answer instanceof Error) throw answer ?? new Error("no more answers");
      return answer;
    });
    return calls;
  };

  it("repeats the same bytes until they have arrived", async () => {
    const client = await Client.open(await small(), FRESH);
    const report = await client.report({ color: "red" });
    const busy = new Response("busy", { status: 503, headers: { "retry-after": "1" } });
    const calls = answering(
      new TypeError("offline"),
      new Response("", { status: 429 }),
      busy,
      new Response('{"outcome":"counted"}', { status: 201 }),
    );
    const started = performance.now();
    expect(await client.send("http://localhost:8000/", report, { invitation: "abc" })).toBe("counted");
    // 0.1 and 0.2 seconds, and the one that was asked for
    expect(performance.now() - started).toBeGreaterThan(1250);
    expect(new Set(calls.map((call) => call.url))).toEqual(new Set(["http://localhost:8000/reports"]));
    for (const call of calls) {
      expect(call).toMatchObject({
        method: "POST",
        credentials: "omit",
        referrerPolicy: "no-referrer",
        redirect: "error",
      });
      expect(call.headers).toEqual({
        "content-type": "application/octet-stream",
        authorization: "Invitation abc",
      });
      expect(call.body).toEqual(report.bytes);
    }
  });

  it("says what the collector refused, and does not insist", async () => {
    const client = await Client.open(await small(), FRESH);
    const report = await client.report({ color: "red" });
    const calls = answering(new Response("the round is closed", { status: 409 }));
    await expect(client.send("http://localhost", report)).rejects.toThrow(
      "refused the report: 409 the round is closed",
    );
    expect(calls.length).toBe(1);
    expect(calls[0].headers).toEqual({ "content-type": "application/octet-stream" });
    answering(new Response('{"outcome":"counted before"}', { status: 200 }));
    expect(await client.send("http://localhost", report)).toBe("counted before");
  });

  it("takes nothing for a receipt but the collector's own words", async () => {
    const client = await Client.open(await small(), FRESH);
    const report = await client.report({ color: "red" });
    const portal = (): Response => new Response("<html>Accept the terms</html>", { status: 200 });
    const calls = answering(portal(), portal());
    const lost = client.send("http://localhost", report, { attempts: 2 });
    await expect(lost).rejects.toMatchObject({ name: "NotSent", status: 0, reason: "", detail: "" });
    await expect(lost).rejects.toThrow("Accept the terms");
    expect(calls.length).toBe(2);
    for (const [text, status] of [
      ['{"outcome":"counted"}', 202],
      ['{"outcome":"closed"}', 200],
      ['{"counted":1}', 201],
      ["null", 200],
      ['"counted"', 201],
      ['["counted"]', 200],
      ["", 201],
    ] as const) {
      answering(new Response(text, { status }));
      await expect(client.send("http://localhost", report, { attempts: 1 }), text).rejects.toThrow(NotSent);
    }
    answering(
      new Response(null, { status: 204 }),
      portal(),
      new Response('{"outcome":"counted"}', { status: 201 }),
    );
    expect(await client.send("http://localhost", report)).toBe("counted");
  });

  it("passes on the collector's reason", async () => {
    const ledger = new Ledger();
    const made = await (await Client.open(await small(), { ledger })).report({ color: "red" });
    ledger.cap = 0.1; // set after it was made: nothing is new
    const client = await Client.open(await small(), { ledger });
    answering(new Response('{"reason":"closed","detail":"This round is not open."}', { status: 409 }));
    await expect(client.send("http://localhost", made)).rejects.toMatchObject({
      status: 409,
      reason: "closed",
      detail: "This round is not open.",
      message: "the collector refused the report: This round is not open",
    });
    const busy =
      '{"reason":"busy","detail":"There is more to do than can be done now; send it again in a moment."}';
    answering(new Response(busy, { status: 503 }));
    await expect(client.send("http://localhost", made, { attempts: 1 })).rejects.toThrow(
      "the report did not arrive (There is more to do than can be done now; send it again in a moment); send it again later",
    );
    answering(new Response('{"outcome":"counted"}', { status: 201 }));
    expect(await client.send("http://localhost", await client.report({ color: "red" }))).toBe("counted");
    answering(new Response("null", { status: 400 }));
    await expect(client.send("http://localhost", made)).rejects.toMatchObject({
      status: 400,
      reason: "",
      detail: "",
    });
  });

  it("gives up after some attempts, or when it is called off", async () => {
    const client = await Client.open(await small(), FRESH);
    const report = await client.report({ color: "red" });
    const calls = answering();
    const failure = client.send("http://localhost", report, { attempts: 2 });
    await expect(failure).rejects.toThrow(NotSent);
    await expect(failure).rejects.toThrow("no more answers");
    expect(calls.length).toBe(2);
    await expect(
      client.send("http://localhost", report, { signal: AbortSignal.abort(new Error("stop")) }),
    ).rejects.toThrow("stop");
  });
});
