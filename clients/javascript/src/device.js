// The device: privatises an answer within its owner's ledger. One transaction, all of it while nobody else uses the
// ledger: check, charge, encode, draw, keep. Nothing of it depends on the value: every value gives a report of the same
// length from as many words.
import { Entropy, hex, joined, unhex } from "./entropy.js";
import { DiscreetError, DomainError, PrivacyError } from "./errors.js";
import { Ratio } from "./exact.js";
import { OUTSIDE } from "./encoders.js";
import { ticketId } from "./upload.js";
import { spell } from "./wire.js";

/** @typedef {import("./mechanism.js").Mechanism} Mechanism */
/** @typedef {{ mechanism: Mechanism, encoder?: { encode(value: any): number, encodeTotal?(value: any): { input: number, isReplaced: boolean }, image?: string, size?: number } }} Channel encoder: none if the value is a canonical input */
/** @typedef {import("./ledger.js").Entry} Entry */

/** Answers questions within a budget. */
export class Device {
  /** @param {import("./ledger.js").Ledger} ledger */
  constructor(ledger) {
    this.ledger = ledger;
  }

  /**
   * Answer a round of a campaign, once: charge, draw and keep the report until `acknowledge`. Asked again before that, it
   * gives the same bytes, whatever the value. If the device stopped between charge and report, the answer is lost.
   * @param {import("./round.js").Round} round
   * @param {any} value what the person holds: a number, a label, or a row where channels ask for its attributes
   * @param {{ id?: Uint8Array, ticket?: Uint8Array, group?: any, entropy?: Entropy, isSimulation?: boolean }} [options] id:
   * where the collector issues it; ticket: where one is needed; group: the label of a public group, which is sent as it is;
   * entropy: for tests
   */
  async answerRound(round, value, { id, ticket, group, entropy, isSimulation = false } = {}) {
    if (entropy?.isReproducible && !isSimulation) throw new DiscreetError("a reproducible entropy protects nobody; it is for simulations only");
    const sent = round.admission === "invited" ? ticket : (id ?? (round.admission === "open" ? await new Entropy().reportId() : undefined));
    if (sent?.length !== 16) throw new DiscreetError(`${round.admission === "invited" ? "ticket" : "id"} must have 16 bytes`);
    const known = round.admission === "invited" ? await ticketId(unhex(round.campaign), sent) : sent;
    const lead = round.lead(group, round.admission === "invited" ? sent : undefined);
    const channels = await round.channelsOf(known);
    const task = taskOf(round);
    return this.ledger.transact(async ({ entries, charge, keep }) => {
      const before = entries.find((entry) => campaignOf(entry) === round.campaign);
      if (before?.kept && before.task === task) return { ...told(before), isNew: false };
      if (before?.kept === undefined && before) throw new PrivacyError("an answer to this campaign was charged, and lost before it could be sent", "lost");
      if (before) throw new PrivacyError("this campaign was answered before; a campaign is answered once", "answered");
      const entry = await charge({ task, ...costOf(channels), mark: "", id: hex(known) });
      const inputs = channels.map((channel) => totalInput(channel, round.held(value)));
      const report = joined(lead, await packed(channels, inputs.map(({ input }) => input), known, entropy));
      await keep(entry, { sent: hex(sent), report: hex(report), isReplaced: inputs.some(({ isReplaced }) => isReplaced) });
      return { ...told(entry), isNew: true };
    });
  }

  /** The report of a campaign that waits to be sent, or null. @param {string} campaign */
  waiting(campaign) {
    return this.ledger.transact(async ({ entries }) => {
      const entry = entries.find((one) => campaignOf(one) === campaign && one.kept);
      return entry ? { ...told(entry), number: Number(entry.task.split(" ")[1]) } : null;
    });
  }

  /**
   * Drop what is left of an answer that its collector has: the report, and whatever could test a guess of the value. What
   * it cost stays, and that the campaign was answered. A question of your own can then be answered again, at its full cost.
   * @param {string} task a campaign's id, or the task of `answer`
   */
  acknowledge(task) {
    return this.ledger.transact(async ({ entries, settle }) => {
      const settled = entries.filter((one) => one.task === task || (campaignOf(one) === task && one.kept));
      if (settled.length) await settle(settled);
    });
  }

  /**
   * Privatise an answer to a question of your own, and charge for it before it can be sent. Its words come from
   * HMAC(secret, task, mechanisms, id, inputs): asked again with the same value, a person sends the same report under the
   * same id, at no cost; another value is a new charge and needs a new id. Until `acknowledge(task)`, whoever reads the
   * ledger can test guesses of the value.
   * @param {string} task the same text for the same question
   * @param {Channel | Channel[]} channels what is answered: one channel, or several whose reports go side by side
   * @param {any} value
   * @param {{ id?: Uint8Array }} [options] id: the report's id where the collector issues it
   */
  async answer(task, channels, value, { id } = {}) {
    const asked = [channels].flat();
    for (const { mechanism, encoder } of asked) checkFit(mechanism, encoder);
    return this.ledger.transact(async ({ secret: ownSecret, entries, charge }) => {
      const secret = await ownSecret();
      const found = asked.map((channel) => totalInput(channel, value));
      const inputs = found.map(({ input }) => input);
      const key = inputs.length === 1 ? inputs[0] : inputs.map(spell).join(" ");
      const cost = costOf(asked);
      const mark = hex(await Entropy.memoised(secret, `${task}\0${cost.mechanism}`, key).read(16)); // tells the same answer again, and nothing else
      const known = entries.find((entry) => entry.mark === mark);
      const entry = known ?? (await charge({ task, ...cost, mark, id: hex(id ?? (await new Entropy().reportId())), kept: null }));
      const reportId = unhex(entry.id);
      // Words depend on the id: under another id, with another public coin, they must not be used again.
      const entropy = Entropy.memoised(secret, `${task}\0${cost.mechanism}\0${entry.id}`, key);
      const isReplaced = found.some((one) => one.isReplaced);
      return { id: reportId, report: await packed(asked, inputs, reportId, entropy), isNew: !known, isReplaced };
    });
  }
}

/** @param {import("./round.js").Round} round */
const taskOf = (round) => `${round.campaign} ${round.number}`;
/** @param {Entry} entry */
const campaignOf = (entry) => entry.task.split(" ")[0];

/** @param {Entry} entry */
function told({ id, kept }) {
  const { sent, report, isReplaced } = /** @type {import("./ledger.js").Kept} */ (kept);
  return { id: unhex(id), sent: unhex(sent), report: unhex(report), isReplaced };
}

/** @param {Channel[]} channels */
const costOf = (channels) => ({
  mechanism: channels.map(({ mechanism }) => mechanism.id).join(" "),
  name: channels.map(({ mechanism }) => mechanism.name).join(", "),
  ratio: channels.reduce((total, { mechanism }) => total.times(mechanism.certificate.ratio), new Ratio(1n)),
});

/** Refuse a channel in which some value could fail, before any value is read. @param {Mechanism} mechanism @param {Channel["encoder"]} encoder */
export function checkFit(mechanism, encoder) {
  if (encoder?.image === undefined || mechanism.fits(encoder)) return;
  const made = encoder.image === "categories" ? `${encoder.size} categories` : encoder.image;
  const taken = mechanism.image === "categories" ? `${mechanism.size} categories` : mechanism.image;
  throw new DomainError(`the encoder must give the inputs of ${mechanism.kind}, ${taken}, not ${made}`);
}

/** Any value as an input of a channel, and whether it had to be replaced by a constant; never throws. @param {Channel} channel @param {any} value */
export function totalInput({ mechanism, encoder }, value) {
  try {
    const { input, isReplaced } = encoder?.encodeTotal?.(value) ?? { input: encoder ? encoder.encode(value) : value, isReplaced: false };
    return { input: mechanism.check(input) + 0, isReplaced }; // -0 is 0
  } catch {
    return { input: mechanism.image === "numbers or outside" ? OUTSIDE : 0, isReplaced: true };
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
