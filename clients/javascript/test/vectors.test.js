// The vectors of tests/vectors, which Python reads too: same keys, same words, same reports, same refusals.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { channelOf, Entropy, Form, Ledger, Mechanism, MemoryStorage, Ratio, readEncoder, Round, ticketId, writeUpload } from "../src/index.js";
import { hex, unhex, Words } from "../src/entropy.js";
import { canonical, spell } from "../src/wire.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
const packed = (mechanism, reports) => reports.map((report) => hex(mechanism.pack(report))).join("");

test("keys, seeds and secrets give the words of Python", async () => {
  const { keys, seeded, memoised } = read("entropy");
  for (const { key, words } of keys) {
    const view = new DataView((await new Entropy(unhex(key)).read(8 * words.length)).buffer);
    assert.deepEqual(words.map((_, i) => `${view.getBigUint64(8 * i, true)}`), words);
    const [whole, pieces] = [new Entropy(unhex(key)), new Entropy(unhex(key))];
    const parts = await Promise.all([1, 16, 7, 40, 3].map((count) => pieces.read(count)));
    assert.equal(parts.map(hex).join(""), hex(await whole.read(67)));
  }
  for (const { seed, stream, first } of seeded) assert.equal(hex(await Entropy.seeded(seed, stream).read(24)), first);
  for (const { secret, task, value, first } of memoised) {
    assert.equal(hex(await Entropy.memoised(unhex(secret), task, value).read(24)), first, `${task} ${value}`);
  }
});

for (const [row, vector] of read("mechanisms").entries()) {
  const { kind, name, epsilon } = JSON.parse(vector.document);
  test(`mechanism ${row}: ${kind}, ${JSON.stringify(name)}, epsilon ${epsilon}`, async () => {
    const mechanism = await Mechanism.fromJSON(vector.document);
    assert.equal(canonical(JSON.parse(vector.document)), vector.document);
    assert.equal(mechanism.id, vector.id);
    assert.equal(`${mechanism.certificate.ratio}`, vector.ratio);
    assert.equal(spell(mechanism.certificate.epsilon), vector.epsilon);
    assert.equal(mechanism.reportBytes, vector.report_bytes);
    assert.equal(mechanism.wordsPerReport, vector.words_per_report);
    const reports = await mechanism.privatizeAll(vector.inputs, { entropy: new Entropy(unhex(vector.key)) });
    assert.equal(packed(mechanism, reports), vector.packed);
    const [entropy, one] = [new Entropy(unhex(vector.key)), []];
    for (const x of vector.inputs) one.push(await mechanism.privatize(x, { entropy }));
    assert.equal(packed(mechanism, one), vector.packed);
    for (const { input, words, packed: expected } of vector.edges) {
      const given = new Words(new Uint8Array(8 * words.length));
      words.forEach((word, i) => given.view.setBigUint64(8 * i, BigInt(word), true));
      assert.equal(hex(mechanism.pack(await mechanism.sample(input, given))), expected, `${input} ${words}`);
    }
  });
  if (!vector.report_ids) continue;
  test(`mechanism ${row}: ${kind}, its coin fixed by the report's id`, async () => {
    const [mechanism, entropy] = [await Mechanism.fromJSON(vector.document), new Entropy(unhex(vector.key))];
    const reports = [];
    for (const [i, x] of vector.inputs.entries()) {
      const publicWord = await mechanism.publicWord(unhex(vector.report_ids[i]));
      reports.push(await mechanism.privatize(x, { entropy, publicWord }));
    }
    assert.equal(packed(mechanism, reports), vector.packed_public);
  });
}

test("bad documents are refused, by the same kind of error", async () => {
  for (const { document, error } of read("refused")) {
    await assert.rejects(Mechanism.fromJSON(document), { name: error }, document.slice(0, 300));
  }
});

test("values become the inputs of Python, or are refused", () => {
  for (const { encoder, values, inputs, total, replaced } of read("encoders")) {
    const ours = readEncoder(encoder);
    values.forEach((value, i) => {
      assert.deepEqual(ours.encodeTotal(value), { input: total[i], isReplaced: replaced[i] });
      if (inputs[i] === null) assert.throws(() => ours.encode(value), { name: "DomainError" });
      else assert.equal(ours.encode(value), inputs[i]);
    });
  }
});

test("numbers are spelled as Python spells them", () => {
  for (const text of read("numbers")) assert.equal(spell(Number(text)), text);
});

test("uploads have the bytes and the channels of Python", async () => {
  for (const { campaign, round, width, answers, ends, channels, body, ticket_ids } of read("uploads")) {
    const where = unhex(campaign);
    const ours = answers.map(([id, report]) => ({ id: unhex(id), report: unhex(report) }));
    assert.equal(hex(writeUpload(where, round, width, ours)), body);
    for (const [i, { id }] of ours.entries()) {
      assert.equal(await channelOf(where, round, id, ends), channels[i]);
      assert.equal(hex(await ticketId(where, id)), ticket_ids[i]);
    }
  }
});

test("a ledger allows and refuses what Python's does", async () => {
  for (const { limit, ratios, allowed, epsilon } of read("ledger")) {
    const ledger = new Ledger({ storage: new MemoryStorage(), limit });
    for (const [i, text] of ratios.entries()) {
      const charge = { task: `${i}`, mechanism: "", name: "", ratio: Ratio.parse(text), mark: `${i}`, id: `${i}` };
      const work = ledger.transact((account) => account.charge(charge));
      if (allowed[i]) await work;
      else await assert.rejects(work, { name: "PrivacyError" }, `${limit} ${i}`);
    }
    assert.equal(spell((await ledger.statement()).epsilon), epsilon);
  }
});

test("rounds are read, assigned and answered as in Python, or refused by the same kind of error", async () => {
  for (const { announcement, limit, error, reason, facts } of read("rounds")) {
    const text = JSON.stringify(announcement);
    const options = limit === null ? {} : { limit };
    if (error) {
      await assert.rejects(Round.read(text, options), { name: error }, reason);
      continue;
    }
    const round = await Round.read(text, options);
    assert.deepEqual([round.number, round.answers, round.width], [facts.number, facts.answers, facts.width]);
    for (const { id, value, group, channels, entry } of facts.people) {
      assert.deepEqual((await round.channelsOf(unhex(id))).map(({ key }) => key), channels);
      const report = await round.privatize(value, unhex(id), { entropy: new Entropy(unhex(facts.key)), group });
      assert.equal(hex(report), entry);
    }
  }
});

test("answers to questions become the rows of Python, or the questions are refused", () => {
  for (const { questions, people, rows, reason } of read("forms")) {
    if (reason !== null) {
      assert.throws(() => Form.read(questions), reason);
      continue;
    }
    const form = Form.read(questions);
    people.forEach((answers, i) => assert.deepEqual(form.row(answers), rows[i], JSON.stringify([questions, answers])));
  }
});
