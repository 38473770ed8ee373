// The device against a collector that wants it to speak: silence, repeated ids, crashes, tabs, damaged ledgers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Categories, Device, Entropy, Interval, Ledger, Mechanism, MemoryStorage, Ratio, readEncoder, Round, BrowserStorage } from "../src/index.js";
import { hex, unhex } from "../src/entropy.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
const documents = read("mechanisms").map(({ document }) => JSON.parse(document));
const find = (kind, name = "") => documents.find((one) => one.kind === kind && one.name.includes(name));
const CAMPAIGN = "ab".repeat(16);

/** The text of an announcement of one channel. */
async function announcement(document, encoder, changes = {}) {
  const mechanism = await Mechanism.fromJSON(JSON.stringify(document));
  const channel = { key: "a", mechanism: document, mechanism_id: mechanism.id, encoder, certificate: {} };
  const round = { kind: "round", version: 2, round: 1, share: 1, answers: 1, width: mechanism.reportBytes, thresholds: [2 ** 48], channels: [channel] };
  return JSON.stringify({ campaign: CAMPAIGN, admission: "open", epsilon: 20, ...round, ...changes });
}

const interval = { low: 0, high: 100 };
const response = find("window", "randomized-response");
const labels = Array.from({ length: response.positions }, (_, i) => `label ${i}`);
const honest = () => announcement(response, { kind: "categories", labels });

/** Values that no encoder can read, and some that fight back. */
const hostile = () => [
  NaN, Infinity, -Infinity, undefined, null, "41873", "", 10n ** 400n, Symbol("x"), () => 1, [], [[]], new Date(NaN), true,
  { valueOf: () => assert.fail("valueOf was called"), toString: () => assert.fail("toString was called") },
  new Proxy({}, { get: () => { throw new Error("a getter that throws"); } }),
  new Proxy([], { get: () => { throw undefined; } }), { 0: 5 },
  Object.create(null), new Number(5), new (class extends Array { get 0() { throw new Error("no"); } })(),
];

test("an encoder whose image does not fit the mechanism is refused before any value is read", async () => {
  const [table, ranged, two] = [find("table"), find("ranged"), response];
  const range = { kind: "range", interval, range: [20, 50], region: [20, 40], clip: true };
  const wrong = [
    [two, { kind: "bucket", interval, bins: two.positions + 1 }], // values above two thirds would fail
    [two, { kind: "bucket", interval, bins: two.positions - 1 || 1 }],
    [two, { kind: "categories", labels: [...labels, "more"] }],
    [two, { kind: "interval", ...interval }],
    [two, range],
    [table, range],
    [table, { kind: "bucket", interval, bins: 2 }],
    [table, { kind: "categories", labels: ["a", "b"] }],
    [ranged, { kind: "interval", ...interval }],
    [ranged, { kind: "attribute", attribute: 0, interval }],
    [table, { kind: "interval", low: 0, high: 5e-324 }],
    [table, { kind: "interval", low: -1e308, high: 1e308 }],
    [table, { kind: "squared-deviation", interval, squared_deviation_from: 1e200 }],
    [ranged, { ...range, region: [0, 1e-310] }],
  ];
  for (const [document, encoder] of wrong) {
    await assert.rejects(Round.read(await announcement(document, encoder)), { name: "WireError" }, JSON.stringify(encoder));
  }
  const device = new Device(new Ledger({ storage: new MemoryStorage(), limit: 5 }));
  const mechanism = await Mechanism.fromJSON(JSON.stringify(two));
  await assert.rejects(device.answer("q", { mechanism, encoder: new Interval(0, 1) }, 0.5), { name: "DomainError" });
  assert.equal((await device.ledger.statement()).entries.length, 0);
});

test("a table whose knots cannot be told apart is refused", async () => {
  const table = find("table");
  const row = [2 ** 47, 2 ** 47];
  const close = { ...table, knots: ["-1.0", "0.0", "1e-300", "1.0"], weights: [row, row, row, row], values: ["-1.0", "1.0"] };
  await assert.rejects(Mechanism.fromJSON(JSON.stringify(close)), { name: "WireError" });
});

test("any value at all gives a report of the same length, and the app learns of a replacement afterwards", async () => {
  const cases = [
    [find("table"), { kind: "interval", ...interval }, 50],
    [find("table"), { kind: "squared-deviation", interval, squared_deviation_from: 3 }, 50],
    [find("table"), { kind: "attribute", attribute: 0, interval }, [50]],
    [find("ranged"), { kind: "range", interval, range: [20, 50], region: [20, 40], clip: true }, 30],
    [response, { kind: "bucket", interval, bins: response.positions }, 50],
    [response, { kind: "categories", labels }, labels[1]],
    [response, { kind: "below", interval, threshold: "41.5" }, 50],
    [find("unary"), { kind: "bucket", interval, bins: find("unary").size }, 50],
    [find("hashing"), { kind: "bucket", interval, bins: find("hashing").size }, 50],
  ];
  for (const [document, encoder, good] of cases) {
    const round = await Round.read(await announcement(document, encoder));
    for (const value of [good, ...hostile()]) {
      const device = new Device(new Ledger({ storage: new MemoryStorage(), limit: 20 }));
      const { report, isReplaced } = await device.answerRound(round, value);
      assert.equal(report.length, round.width);
      assert.equal(isReplaced, value !== good);
      assert.equal((await device.ledger.statement()).entries.length, 1);
      const total = readEncoder(encoder).encodeTotal(value);
      assert.equal(total.isReplaced, value !== good);
      if (value !== good) assert.equal(total.input, encoder.kind === "range" ? 2 : 0);
    }
    // The constant is the same for everything that cannot be read, and takes as many words as any value.
    const [one, other] = [{ words: 0 }, { words: 0 }];
    for (const [count, value] of [[one, good], [other, NaN]]) {
      const entropy = new Entropy(new Uint8Array(32));
      const plain = entropy.read.bind(entropy);
      entropy.read = (bytes) => ((count.words += bytes), plain(bytes));
      await round.privatize(value, new Uint8Array(16), { entropy });
    }
    assert.equal(one.words, other.words);
  }
});

test("a repeated key, a fraction for a whole number, NaN, depth and size are refused on the text", async () => {
  const text = await honest();
  await Round.read(text);
  const wrong = [
    JSON.parse(text), // an object hides repeated keys
    text.replace('"answers":1', '"answers":1,"answers":1'),
    text.replace('"answers":1', '"answers":1,"answ\\u0065rs":1'),
    text.replace('"key":"a"', '"key":"a","key":"a"'),
    text.replace('"certificate":{}', '"certificate":{"x":1,"x":2}'),
    text.replace('"certificate":{}', '"certificate":NaN'),
    text.replace('"certificate":{}', `"certificate":${"[".repeat(40)}${"]".repeat(40)}`),
    text.replace('"certificate":{}', `"certificate":${"[".repeat(1e5)}${"]".repeat(1e5)}`),
    text.replace('"thresholds":[281474976710656]', '"thresholds":[281474976710656.0]'),
    text.replace('"thresholds":[281474976710656]', '"thresholds":[2.81474976710656e14]'),
    text.replace('"round":1', '"round":1.0'),
    text.replace('"round":1', `"round":${2n ** 70n}`),
    text.replace('"round":1', '"round":4294967296'),
    text.replace('"version":2', '"version":2.0'),
    text.replace('"epsilon":20', '"epsilon":NaN'),
    text.replace('"epsilon":20', '"epsilon":1e999'),
    text.replace('"admission":"open"', '"admission":"anyone"'),
    text.replace('"admission":"open"', '"admission":["open"]'),
    text.replace('"campaign"', '"__proto__":{},"campaign"'),
    `${text} ${" ".repeat(2 ** 24)}`,
    `${text}x`, "", "null", "[]", "[".repeat(1e5),
  ];
  for (const one of wrong) await assert.rejects(Round.read(one), { name: "WireError" }, String(one).slice(0, 200));
});

test("a campaign is answered once; until it is acknowledged the same bytes come back, whatever the value", async () => {
  const round = await Round.read(await honest());
  const storage = new MemoryStorage();
  const device = () => new Device(new Ledger({ storage, limit: 20 }));
  const first = await device().answerRound(round, labels[0]);
  for (let i = 0; i < 20; i++) {
    const again = await device().answerRound(round, labels[i % 2], { id: new Uint8Array(16).fill(i) });
    assert.deepEqual([again.id, again.report, again.isNew], [first.id, first.report, false]);
  }
  const { sent, report, number } = await device().waiting(CAMPAIGN);
  assert.deepEqual([sent, report, number], [first.id, first.report, 1]);
  await device().acknowledge(CAMPAIGN);
  assert.equal(await device().waiting(CAMPAIGN), null);
  await assert.rejects(device().answerRound(round, labels[0]), { name: "PrivacyError", message: /answered before/ });
  const second = await Round.read(await announcement(response, { kind: "categories", labels }, { round: 2 }));
  await assert.rejects(device().answerRound(second, labels[0]), { name: "PrivacyError" });
  assert.equal((await device().ledger.statement()).entries.length, 1);
});

test("an id once charged makes no second report, under any question", async () => {
  const storage = new MemoryStorage();
  const device = new Device(new Ledger({ storage, limit: 20 }));
  const id = new Uint8Array(16).fill(7);
  await device.answerRound(await Round.read(await honest()), labels[0], { id });
  const other = await Round.read(await announcement(response, { kind: "categories", labels }, { campaign: "cd".repeat(16) }));
  await assert.rejects(device.answerRound(other, labels[0], { id }), { name: "PrivacyError", message: /report id/ });
  const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
  await assert.rejects(device.answer("q", { mechanism }, 1, { id }), { name: "PrivacyError" });
  await device.answer("q", { mechanism }, 1, { id: new Uint8Array(16).fill(8) });
  await assert.rejects(device.answer("q", { mechanism }, 0, { id: new Uint8Array(16).fill(8) }), { name: "PrivacyError" });
});

test("many ledgers on one storage at once spend what one would", async () => {
  const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
  const { epsilon } = mechanism.certificate;
  const storage = new MemoryStorage();
  const answers = Array.from({ length: 8 }, (_, i) => new Device(new Ledger({ storage, limit: Math.ceil(epsilon) })).answer(`q ${i}`, { mechanism }, 1));
  const settled = await Promise.allSettled(answers);
  assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
  const round = await Round.read(await honest());
  const shared = new MemoryStorage();
  const made = await Promise.all(Array.from({ length: 8 }, () => new Device(new Ledger({ storage: shared, limit: 20 })).answerRound(round, labels[1])));
  assert.equal(new Set(made.map(({ id, report }) => hex(id) + hex(report))).size, 1);
});

/** A storage that stops at its k-th write, before or after the text is stored. */
class Crashing {
  #text = null;
  constructor(at, isAfter) {
    Object.assign(this, { at, isAfter, writes: 0 });
  }
  get() {
    return this.#text;
  }
  set(_key, text) {
    const stops = ++this.writes === this.at;
    if (!stops || this.isAfter) this.#text = text;
    if (stops) throw new Error("the device stopped");
  }
}

test("whichever write the device stops at, no more reports are drawn than were charged", async () => {
  const round = await Round.read(await honest());
  let lost = 0;
  for (const isAfter of [false, true]) {
    for (let at = 1; at <= 5; at++) {
      const storage = new Crashing(at, isAfter);
      const out = new Set();
      let draws = 0;
      const counted = new Proxy(round, { get: (target, key) => target[key] });
      for (let attempt = 0; attempt < 4; attempt++) {
        const device = new Device(new Ledger({ storage, limit: 20 }));
        const entropy = new Entropy();
        const plain = entropy.read.bind(entropy);
        entropy.read = (bytes) => (draws++, plain(bytes));
        try {
          const { id, report } = await device.answerRound(counted, labels[1], { entropy });
          out.add(`${hex(id)} ${hex(report)}`);
          if (attempt === 2) await device.acknowledge(CAMPAIGN);
        } catch (error) {
          assert.match(error.message, /stopped|lost|answered before/);
          lost += /lost/.test(error.message) ? 1 : 0;
        }
      }
      const { entries } = JSON.parse(storage.get()) ?? { entries: [] };
      assert.ok(out.size <= entries.length && draws <= entries.length && entries.length <= 1, `${at} ${isAfter}: ${draws} draws, ${entries.length} charges`);
    }
  }
  assert.ok(lost > 0);
});

test("a seeded entropy is refused unless the caller says that it is a simulation", async () => {
  const round = await Round.read(await honest());
  const device = new Device(new Ledger({ storage: new MemoryStorage(), limit: 20 }));
  await assert.rejects(device.answerRound(round, labels[0], { entropy: Entropy.seeded(1) }), { name: "DiscreetError" });
  await device.answerRound(round, labels[0], { entropy: Entropy.seeded(1), isSimulation: true });
});

test("a missing, damaged or limitless ledger never starts afresh by itself", async () => {
  const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
  const storage = new MemoryStorage();
  await assert.rejects(new Ledger({ storage }).statement(), { name: "DiscreetError", message: /needs its limit/ });
  await new Device(new Ledger({ storage, limit: 2 })).answer("q", { mechanism }, 1);
  assert.equal((await new Ledger({ storage }).statement()).limit, 2);
  await assert.rejects(new Ledger({ storage, limit: 4 }).statement(), { name: "DiscreetError", message: /changeLimit/ });
  const owner = new Ledger({ storage });
  await owner.changeLimit(4);
  assert.deepEqual([(await owner.statement()).limit, (await owner.statement()).entries.length], [4, 1]);
  const text = storage.get("discreet");
  const book = JSON.parse(text);
  const damaged = [
    "{", "", "null", "[]", "{}", text.slice(0, -2), JSON.stringify({ ...book, limit: undefined }), JSON.stringify({ ...book, limit: null }),
    JSON.stringify({ ...book, limit: "4" }), JSON.stringify({ ...book, secret: "" }), JSON.stringify({ ...book, entries: {} }),
    JSON.stringify({ ...book, entries: [null] }), JSON.stringify({ ...book, entries: [{ ...book.entries[0], ratio: "0/1" }] }), JSON.stringify({ ...book, version: 9 }),
  ];
  for (const one of damaged) {
    const broken = { get: () => one, set: () => assert.fail("a damaged ledger must not be written") };
    await assert.rejects(new Device(new Ledger({ storage: broken, limit: 4 })).answer("r", { mechanism }, 1), { name: "DiscreetError" }, one);
  }
  const old = { get: () => JSON.stringify({ secret: book.secret, entries: book.entries }), set: () => {} };
  assert.equal((await new Ledger({ storage: old, limit: 4 }).statement()).entries.length, 1);
  await assert.rejects(new Ledger({ storage: old }).statement(), { name: "DiscreetError" });
});

test("a browser without locks between tabs is refused; with them tabs take turns", async () => {
  const texts = new Map();
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true });
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  define("localStorage", { getItem: (key) => texts.get(key) ?? null, setItem: (key, text) => texts.set(key, text) });
  try {
    define("navigator", {});
    await assert.rejects(new Ledger({ storage: new BrowserStorage(), limit: 1 }).statement(), { name: "DiscreetError", message: /navigator\.locks/ });
    let last = Promise.resolve();
    define("navigator", { locks: { request: (_name, work) => (last = last.then(work, work)) } });
    const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
    const limit = Math.ceil(mechanism.certificate.epsilon);
    const tabs = Array.from({ length: 8 }, (_, i) => new Device(new Ledger({ storage: new BrowserStorage(), limit })).answer(`q ${i}`, { mechanism }, 1));
    assert.equal((await Promise.allSettled(tabs)).filter(({ status }) => status === "fulfilled").length, 1);
  } finally {
    if (before) Object.defineProperty(globalThis, "navigator", before);
    else delete globalThis.navigator;
    delete globalThis.localStorage;
  }
});

test("certificates: the worst of both draws counts, as in Python", async () => {
  const [field, dimension, size] = [2, 25, 2 ** 24];
  const [on, off] = [2 ** 24 - 1, 2 ** 24].map(BigInt);
  const good = { discreet: 1, kind: "projective", name: "p", epsilon: "1.0", size, field, dimension };
  const fits = async (hit) => Mechanism.fromJSON(JSON.stringify({ ...good, hit })).then(() => true, () => false);
  let [low, high] = [2 ** 47, 2 ** 48 - 1]; // the largest hit that is accepted
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await fits(middle)) low = middle;
    else high = middle;
  }
  const { ratio } = (await Mechanism.fromJSON(JSON.stringify({ ...good, hit: low }))).certificate;
  const even = new Ratio(BigInt(low) * off, (2n ** 48n - BigInt(low)) * on);
  assert.ok(ratio.n * even.d > even.n * ratio.d); // the hyperplane has no power of two of points, so its draw is uneven
});

test("labels are equal as in Python: there true is 1", () => {
  assert.throws(() => new Categories([true, 1]), { name: "DomainError" });
  assert.throws(() => new Categories([["a"], "b"]), { name: "DomainError" });
  assert.deepEqual(new Categories(["a", 1]).encodeTotal(true), { input: 1, isReplaced: false });
});

/** What the next person at the same device does: try every answer against what the storage still holds. */
async function guess(storage, task, mechanism) {
  const { secret, entries } = JSON.parse(storage.get("discreet"));
  const entry = entries.find((one) => one.task === task);
  if (!secret) return [];
  const tried = [];
  for (let input = 0; input < labels.length; input++) {
    const mark = hex(await Entropy.memoised(unhex(secret), `${task}\0${entry.mechanism}`, input).read(16));
    const words = Entropy.memoised(unhex(secret), `${task}\0${entry.mechanism}\0${entry.id}`, input);
    const report = hex(mechanism.pack(await mechanism.privatize(input, { entropy: words })));
    if (mark === entry.mark || mark === entry.id || report === entry.kept?.report) tried.push(input);
  }
  return tried;
}

test("what a device keeps after sending cannot test a guess of the answer", async () => {
  const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
  const channel = { mechanism, encoder: readEncoder({ kind: "categories", labels }) };
  const storage = new MemoryStorage();
  const device = new Device(new Ledger({ storage, limit: 20 }));
  const text = await honest();
  for (const campaign of [CAMPAIGN, "cd".repeat(16)]) {
    const round = await Round.read(text.replaceAll(CAMPAIGN, campaign));
    await device.answerRound(round, labels[1]);
    assert.equal(JSON.parse(storage.get("discreet")).secret, undefined); // a campaign's answer needs none
    await device.acknowledge(campaign);
  }
  await device.answer("drinks", channel, labels[1]);
  await device.answer("other", channel, labels[0]);
  assert.deepEqual(await guess(storage, "drinks", mechanism), [1]); // the attack works until it is acknowledged
  await device.acknowledge("drinks");
  assert.deepEqual(await guess(storage, "drinks", mechanism), []); // also while the secret serves another answer
  await device.acknowledge("other");
  const { secret, entries } = JSON.parse(storage.get("discreet"));
  assert.equal(secret, undefined);
  assert.deepEqual(entries.map(({ mark, kept }) => [mark, kept]), Array(4).fill(["", null]));
  const before = (await device.ledger.statement()).epsilon;
  await assert.rejects(device.answerRound(await Round.read(text), labels[1]), { name: "PrivacyError", message: /answered once/ });
  assert.equal((await device.answer("drinks", channel, labels[1])).isNew, true); // and costs again
  assert.ok((await device.ledger.statement()).epsilon > before);
});

test("a ledger from before drops its secret when it is opened, and keeps every cost", async () => {
  const mechanism = await Mechanism.fromJSON(JSON.stringify(response));
  const storage = new MemoryStorage();
  const secret = "07".repeat(32);
  const task = `${CAMPAIGN} 1`;
  const mark = hex(await Entropy.memoised(unhex(secret), `${task}\0${mechanism.id}`, 1).read(16));
  const entry = { task, mechanism: mechanism.id, name: "x", ratio: `${mechanism.certificate.ratio}`, epsilon: 1, mark, id: "01".repeat(16), kept: null };
  for (const old of [{ version: 2, limit: 4, secret, entries: [entry] }, { secret, entries: [{ ...entry, kept: undefined }] }]) {
    storage.set("discreet", JSON.stringify(old));
    assert.deepEqual(await guess(storage, task, mechanism), [1]);
    const ledger = new Ledger({ storage, limit: 4 });
    const { entries, epsilon } = await ledger.statement();
    assert.deepEqual(await guess(storage, task, mechanism), []);
    assert.equal(JSON.parse(storage.get("discreet")).secret, undefined);
    assert.equal(entries[0].ratio, entry.ratio);
    assert.ok(epsilon > 0);
  }
});
