// What has no counterpart in Python: limits, the ledger, the shipped types.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";
import * as discreet from "../src/index.js";
import { hex } from "../src/entropy.js";

const { Attribute, Categories, Device, Entropy, Interval, Ledger, Mechanism, MemoryStorage, Ratio } = discreet;
const vectors = JSON.parse(readFileSync(new URL("../../../tests/vectors/mechanisms.json", import.meta.url), "utf8"));
const documents = (kind) => vectors.map(({ document }) => document).filter((text) => JSON.parse(text).kind === kind);
const [duchi] = documents("table"); // epsilon 1, two outputs
const [response] = documents("window").filter((text) => text.includes("randomized-response"));

test("a document above the owner's limit is refused", async () => {
  const { certificate } = await Mechanism.fromJSON(duchi, { limit: 1 });
  assert.ok(certificate.epsilon <= 1 && certificate.epsilon > 0.999999);
  await Mechanism.fromJSON(duchi, { limit: certificate.epsilon });
  await assert.rejects(Mechanism.fromJSON(duchi, { limit: certificate.epsilon * (1 - 1e-15) }), { name: "PrivacyError" });
  for (const limit of [0, 0.5, -1, NaN, "2", null]) {
    await assert.rejects(Mechanism.fromJSON(duchi, { limit }), { name: "PrivacyError" }, `${limit}`);
  }
});

test("spaces and the order of keys do not matter, nor does the spelling of a flat window", async () => {
  const document = JSON.parse(response);
  const shuffled = JSON.stringify(Object.fromEntries(Object.entries(document).reverse()), null, 2);
  assert.equal((await Mechanism.fromJSON(shuffled)).id, (await Mechanism.fromJSON(response)).id);
  const [flat] = documents("window").filter((text) => JSON.parse(text).width > 1 && JSON.parse(text).profile.length === 1);
  const { width, profile } = JSON.parse(flat);
  const long = JSON.stringify({ ...JSON.parse(flat), profile: Array(width).fill(profile[0]) });
  assert.equal((await Mechanism.fromJSON(long)).id, (await Mechanism.fromJSON(flat)).id);
});

test("inputs that a mechanism does not take are refused", async () => {
  const [table, window] = [await Mechanism.fromJSON(duchi), await Mechanism.fromJSON(response)];
  for (const x of [1.01, -2, 2, NaN, "0.5", null, undefined, [0], true, 0n]) {
    await assert.rejects(table.privatize(x), { name: "DomainError" });
  }
  for (const x of [-1, 2, 0.5, "0", true]) await assert.rejects(window.privatize(x), { name: "DomainError" });
});

test("the system's words are fresh, and follow the law", async () => {
  const mechanism = await Mechanism.fromJSON(duchi);
  assert.notEqual(hex(await new Entropy().read(32)), hex(await new Entropy().read(32)));
  const reports = await mechanism.privatizeAll(Array(20000).fill(1));
  const share = reports.filter((report) => report === 1).length / 20000;
  const expected = Math.E / (Math.E + 1);
  assert.ok(Math.abs(share - expected) < 5.5 * Math.sqrt((expected * (1 - expected)) / 20000), `${share}`);
});

test("keys and secrets of a wrong length are refused", async () => {
  await assert.rejects(new Entropy(new Uint8Array(16)).read(8), { name: "DiscreetError" });
  assert.throws(() => Entropy.memoised(new Uint8Array(8), "task", 1), { name: "DiscreetError" });
  assert.throws(() => Entropy.memoised(new Uint8Array(32), "task", NaN), { name: "DiscreetError" });
  assert.throws(() => Entropy.seeded(-1), { name: "DiscreetError" });
});

test("ratios: the least epsilon that holds, from tiny to huge", () => {
  for (const [n, d] of [[2n ** 60n + 1n, 2n ** 60n], [3n, 2n], [10n ** 200n, 7n], [10n ** 3000n + 1n, 10n ** 2990n]]) {
    const { epsilon } = new Ratio(n, d);
    assert.ok(new Ratio(n, d).within(epsilon) && !new Ratio(n, d).within(epsilon * (1 - 2 ** -52)));
  }
  assert.equal(new Ratio(5n, 5n).epsilon, 0);
});

test("the ledger charges a new answer, not the same one again, and stops at the limit", async () => {
  const [storage, wage] = [new MemoryStorage(), new Interval(0, 100)];
  const ledger = new Ledger({ storage, limit: 2 });
  const device = new Device(ledger);
  const channel = { mechanism: await Mechanism.fromJSON(duchi), encoder: wage };
  const [first, again] = await Promise.all([1, 2].map(() => device.answer("wage 1", channel, 30)));
  assert.deepEqual([first.isNew, again.isNew], [true, false]);
  assert.deepEqual([again.id, again.report], [first.id, first.report]);
  const other = await new Device(new Ledger({ storage, limit: 2 })).answer("wage 2", channel, 30);
  assert.notDeepEqual(other.id, first.id);
  assert.equal(await ledger.allows(channel.mechanism.certificate.ratio), false);
  await assert.rejects(device.answer("wage 3", channel, 30), { name: "PrivacyError" });
  await assert.rejects(device.answer("wage 1", channel, 31), { name: "PrivacyError" });
  assert.equal((await device.answer("wage 2", channel, 30)).isNew, false);
  const { entries, epsilon, limit } = await ledger.statement();
  assert.deepEqual([entries.map(({ task }) => task), limit], [["wage 1", "wage 2"], 2]);
  assert.ok(epsilon > 1.99999 && epsilon <= 2);
  assert.ok(Ratio.parse(entries[0].ratio).times(Ratio.parse(entries[1].ratio)).within(2));
});

test("answers of every kind come out of the device at their width, and -0 is 0", async () => {
  const ledger = new Ledger({ storage: new MemoryStorage(), limit: 900 });
  const device = new Device(ledger);
  for (const { document } of vectors) {
    const mechanism = await Mechanism.fromJSON(document);
    const answers = [await device.answer("q", { mechanism }, 0), await device.answer("q", { mechanism }, -0)];
    assert.deepEqual(answers.map(({ isNew }) => isNew), [true, false]);
    assert.equal(answers[0].report.length, mechanism.reportBytes);
  }
  assert.equal((await ledger.statement()).entries.length, vectors.length);
});

test("an issued id is kept: a second one is not used for the same answer", async () => {
  const device = new Device(new Ledger({ storage: new MemoryStorage(), limit: 5 }));
  const mechanism = await Mechanism.fromJSON(documents("hashing")[0]);
  const [one, two] = [1, 2].map((byte) => new Uint8Array(16).fill(byte));
  const first = await device.answer("q", { mechanism }, 3, { id: one });
  const again = await device.answer("q", { mechanism }, 3, { id: two });
  assert.deepEqual([again.id, again.report], [one, first.report]);
  assert.deepEqual(first.id, one);
  const seed = (await mechanism.publicWord(one)) >> BigInt(64 - 2 * mechanism.bits);
  const report = first.report.reduce((sum, byte, i) => sum + (BigInt(byte) << BigInt(8 * i)), 0n);
  assert.equal(report / BigInt(mechanism.buckets), seed);
});

test("under another id an answer has other words", async () => {
  const mechanism = await Mechanism.fromJSON(documents("window").find((text) => text.includes('"piecewise"')));
  const text = JSON.stringify({ secret: "07".repeat(32), entries: [] });
  const reports = [1, 2].map(async (byte) => {
    const ledger = new Ledger({ storage: { get: () => text, set: () => {} }, limit: 5 });
    return (await new Device(ledger).answer("q", { mechanism }, 0.5, { id: new Uint8Array(16).fill(byte) })).report;
  });
  assert.notDeepEqual(await reports[0], await reports[1]);
});

test("several answers are one charge, one id and reports side by side", async () => {
  const [table, wave] = [await Mechanism.fromJSON(duchi), await Mechanism.fromJSON(documents("window").find((text) => text.includes('"piecewise"')))];
  const ledger = new Ledger({ storage: new MemoryStorage(), limit: 20 });
  const device = new Device(ledger);
  const channels = [{ mechanism: table, encoder: new Attribute(0, new Interval(0, 1)) }, { mechanism: wave, encoder: new Attribute(1, new Interval(0, 9)) }];
  const [first, again, other] = [await device.answer("q", channels, [0.5, 3]), await device.answer("q", channels, [0.5, 3]), await device.answer("q", channels, [0.5, 4])];
  assert.equal(first.report.length, table.reportBytes + wave.reportBytes);
  assert.deepEqual([again.isNew, again.id, again.report], [false, first.id, first.report]);
  assert.equal(other.isNew, true);
  const { entries } = await ledger.statement();
  assert.equal(entries[0].ratio, `${table.certificate.ratio.times(wave.certificate.ratio)}`);
  assert.equal(entries.length, 2);
});

test("the source stays small", () => {
  const names = readdirSync(new URL("../src", import.meta.url));
  const source = names.map((name) => readFileSync(new URL(`../src/${name}`, import.meta.url), "utf8")).join("");
  // 4 kB more than before rounds were parsed strictly and the device kept its own outbox in one transaction; up to 8 kB
  // more for questions in rounds of thresholds, questionnaires and groups; 8 kB for forms and their conditions.
  assert.ok(gzipSync(source).length < 42000 && gzipSync(source.replace(/\/\*\*.*?\*\//gs, "")).length < 34000);
});

test("nothing leaves when the ledger cannot be written or read", async () => {
  const mechanism = await Mechanism.fromJSON(response);
  const colours = new Categories(["red", "blue"]);
  const full = { get: () => null, set: () => Promise.reject(new Error("disk full")) };
  const answer = (storage) => new Device(new Ledger({ storage, limit: 5 })).answer("q", { mechanism, encoder: colours }, "red");
  await assert.rejects(answer(full), /disk full/);
  const broken = { get: () => "{", set: () => assert.fail("a broken ledger must not start afresh") };
  await assert.rejects(answer(broken), { name: "DiscreetError" });
  for (const limit of [null, NaN, -1, Infinity, "2"]) {
    assert.throws(() => new Ledger({ storage: full, limit }), { name: "DiscreetError" }, `${limit}`);
  }
});

test("index.d.ts declares what is exported, and every public method", () => {
  const text = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
  const declared = [...text.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.keys(discreet).sort());
  for (const name of ["Ratio", "Entropy", "Mechanism", "Interval", "Bucket", "Categories", "Range", "Ledger", "Device", "Form", "Round", "MemoryStorage"]) {
    const body = text.match(new RegExp(`^export class ${name} .*?^}`, "ms"))[0];
    const members = [...body.matchAll(/^  (static )?(?:readonly )?(\w+)\??(?:<\w+>)?[(:]/gm)].map(([, isStatic, member]) => isStatic + member);
    const ours = Object.getOwnPropertyNames(discreet[name].prototype).map((member) => `undefined${member}`);
    const internal = ["certify", "sample"].map((member) => `undefined${member}`);
    for (const member of ours) assert.ok(members.includes(member) || internal.includes(member) || member.endsWith("constructor"), `${name}: ${member}`);
  }
});
