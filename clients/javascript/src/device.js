// The device: privatises an answer within its owner's ledger.
import { Entropy, hex, joined, unhex } from "./entropy.js";
import { Ratio } from "./exact.js";
import { spell } from "./wire.js";

/** @typedef {import("./mechanism.js").Mechanism} Mechanism */
/** @typedef {{ mechanism: Mechanism, encoder?: { encode(value: any): number } }} Channel encoder: none if the value is a canonical input */

/**
 * Answers questions within a budget. The words of an answer come from HMAC(secret, task, mechanisms, id, inputs): asked
 * again with the same value, a person sends the same report under the same id, at no cost.
 */
export class Device {
  /** @param {import("./ledger.js").Ledger} ledger */
  constructor(ledger) {
    this.ledger = ledger;
  }

  /**
   * Privatise an answer and charge for it before it can be sent.
   * @param {string} task campaign and round: the same text for the same question
   * @param {Channel | Channel[]} channels what is answered: one channel, or several whose reports go side by side
   * @param {any} value what the person holds: a number, a label, or a row where channels ask for its attributes
   * @param {{ id?: Uint8Array }} [options] id: the report's id where the collector issues it
   */
  answer(task, channels, value, { id } = {}) {
    const asked = [channels].flat();
    return this.ledger.transact(async ({ secret, find, charge }) => {
      const inputs = asked.map(({ mechanism, encoder }) => mechanism.check(encoder ? encoder.encode(value) : value) + 0); // -0 is 0
      const key = inputs.length === 1 ? inputs[0] : inputs.map(spell).join(" ");
      const mechanism = asked.map((channel) => channel.mechanism.id).join(" ");
      const mark = hex(await Entropy.memoised(secret, `${task}\0${mechanism}`, key).read(16)); // tells the same answer again, and nothing else
      const ratio = asked.reduce((total, channel) => total.times(channel.mechanism.certificate.ratio), new Ratio(1n));
      const name = asked.map((channel) => channel.mechanism.name).join(", ");
      const known = find(mark);
      const entry = known ?? (await charge({ task, mechanism, name, ratio, mark, id: id ? hex(id) : mark }));
      const reportId = unhex(entry.id);
      // Words depend on the id: under another id, with another public coin, they must not be used again.
      const entropy = Entropy.memoised(secret, `${task}\0${mechanism}\0${entry.id}`, key);
      return { id: reportId, report: await packed(asked, inputs, reportId, entropy), isNew: !known };
    });
  }
}

/**
 * The packed reports of one person, side by side.
 * @param {Channel[]} channels @param {number[]} inputs @param {Uint8Array} id @param {Entropy} [entropy]
 */
export async function packed(channels, inputs, id, entropy) {
  const reports = [];
  for (const [i, { mechanism }] of channels.entries()) {
    const publicWord = await mechanism.publicWord(id);
    reports.push(mechanism.pack(await mechanism.privatize(inputs[i], { entropy, publicWord })));
  }
  return joined(...reports);
}
