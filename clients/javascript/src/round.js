// An open round, as a collector announces it: read strictly and verified here. Nothing of the collector is believed.
import { checkFit, packed, totalInput } from "./device.js";
import { Categories, readEncoder } from "./encoders.js";
import { DiscreetError, PrivacyError, WireError } from "./errors.js";
import { Ratio, TOTAL } from "./exact.js";
import { Form } from "./form.js";
import { Mechanism } from "./mechanism.js";
import { joined } from "./entropy.js";
import { channelOf } from "./upload.js";
import { canonical, parse, plain } from "./wire.js";

/** @typedef {{ key: string, mechanism: Mechanism, encoder: { encode(value: any): number }, document: any }} Channel */

const VERSION = 2;
const HEAD = ["admission", "campaign", "epsilon"];
const FIRST = ["channels", "round", "thresholds", "width"]; // all that version 0.1 wrote
const FIELDS = [...FIRST, "answers", "kind", "share", "version"];
const CHANNEL = ["certificate", "encoder", "key", "mechanism", "mechanism_id"];
const MAX_CHANNELS = 2 ** 14; // times answers: the work of verifying a round
const MAX_CELLS = 2 ** 18;
const MAX_CHARACTERS = 2 ** 22;
const MAX_WIDTH = 2 ** 16 - 1;
const MAX_GROUPS = 2 ** 12;
const STATED = 2 ** 16 - 1; // the group of a ticket whose holder states the group

/** A round whose claim was checked on this device. */
export class Round {
  /** @param {{ campaign: string, admission: string, epsilon: number, number: number, share: number, answers: number, ends: number[], channels: Channel[], by: Categories | null, form: Form | null }} fields by: public groups, all asked alike */
  constructor({ campaign, admission, epsilon, number, share, answers, ends, channels, by, form }) {
    this.campaign = campaign;
    this.admission = admission;
    this.epsilon = epsilon;
    this.number = number;
    this.share = share;
    this.answers = answers;
    this.ends = ends;
    this.channels = channels;
    this.by = by;
    this.form = form;
  }

  /**
   * Read an announcement, compute every certificate again, and refuse a round of which one person's answers together
   * reveal more than it claims, or more than `limit`.
   * @param {string} text as it was received: a parsed object no longer tells whether it repeated a key
   * @param {{ limit?: number, campaign?: string }} [options] campaign: the one that was asked for, hexadecimal
   */
  static async read(text, { limit = Infinity, campaign } = {}) {
    const announcement = parse(text, "announcement", MAX_CHARACTERS);
    const { campaign: named, admission, epsilon: claim, ...document } = fieldsOf(announcement, "announcement");
    for (const key of HEAD) if (!Object.hasOwn(announcement, key)) throw new WireError(`announcement lacks the field '${key}'`);
    if (typeof named !== "string" || !/^[0-9a-f]{32}$/.test(named)) throw new WireError("campaign must be 32 hexadecimal digits");
    if (campaign !== undefined && named !== campaign) throw new WireError("the collector answered for another campaign");
    if (!["open", "issued", "invited"].includes(admission)) throw new WireError("admission must be open, issued or invited");
    const epsilon = real("epsilon", claim, 20);
    const round = new Round({ campaign: named, admission, epsilon, ...(await readDocument(document)) });
    if (round.width !== announcement.width) throw new WireError(`width must be ${round.width} for these mechanisms, not ${announcement.width}`);
    for (const { mechanism } of round.channels) {
      if (mechanism.epsilon > epsilon) throw new PrivacyError(`${mechanism.name} has epsilon ${mechanism.epsilon}; the campaign claims ${epsilon}`, "claim", { epsilon: mechanism.epsilon, claimed: epsilon });
    }
    for (const first of round.channels.keys()) {
      const ratio = round.ratio(first);
      if (ratio.n === ratio.d) throw new WireError("what one person answers reveals nothing, so it need not be asked");
      if (!ratio.within(epsilon)) {
        throw new PrivacyError(`what one person answers has epsilon ${ratio.epsilon}; the campaign claims ${epsilon}`, "claim", { epsilon: ratio.epsilon, claimed: epsilon });
      }
      if (!(limit === Infinity || ratio.within(typeof limit === "number" && limit >= 0 ? Ratio.decimal(limit) : NaN))) {
        throw new PrivacyError(`the campaign asks for epsilon ${ratio.epsilon}; the owner of this device allows ${limit}`, "limit", { epsilon: ratio.epsilon, limit });
      }
    }
    return round;
  }

  /** The channels that people answer for whom this one is drawn. @param {number} first */
  answered(first) {
    return Array.from({ length: this.answers }, (_, step) => this.channels[(first + step) % this.channels.length]);
  }

  /** What the answers of people reveal for whom this channel is drawn. @param {number} first */
  ratio(first) {
    const ratios = this.answered(first).map(({ mechanism }) => mechanism.certificate.ratio);
    return new Ratio(ratios.reduce((n, ratio) => n * ratio.n, 1n), ratios.reduce((d, ratio) => d * ratio.d, 1n));
  }

  /**
   * What comes before the reports of an entry: the number of the person's public group, where the round has groups.
   * @param {any} [label] what the person states: it is public @param {Uint8Array} [ticket] the invitation, which may be made for a group
   */
  lead(label, ticket) {
    if (!this.by) {
      if (label !== undefined) throw new DiscreetError("the campaign does not ask by group; leave the group out");
      return new Uint8Array();
    }
    const invited = this.invitedGroup(ticket);
    if (label === undefined && invited === null) throw new DiscreetError("the campaign asks by group: say which group the answer belongs to");
    const group = label === undefined ? /** @type {number} */ (invited) : this.by.encode(label);
    if (invited !== null && invited !== group) throw new DiscreetError("group must be the one of the invitation; leave it out");
    if (group >= this.by.size) throw new DiscreetError("the invitation was made for a group that the campaign does not have", "group");
    return Uint8Array.of(group & 255, group >> 8);
  }

  /** The number of the public group that an invitation was made for, or null. @param {Uint8Array} [ticket] */
  invitedGroup(ticket) {
    const group = this.by && this.admission === "invited" && ticket ? ticket[14] + 256 * ticket[15] : STATED;
    return group === STATED ? null : group;
  }

  /** Bytes of one person's entry: the group if there are groups, and the packed reports, filled with zeros to the longest. */
  get width() {
    return (this.by ? 2 : 0) + Math.max(...this.channels.map((_, first) => this.answered(first).reduce((sum, { mechanism }) => sum + mechanism.reportBytes, 0)));
  }

  /** The channels that a report id answers, in the order of their reports. @param {Uint8Array} id */
  async channelsOf(id) {
    const campaign = Uint8Array.from(this.campaign.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    return this.answered(await channelOf(campaign, this.number, id, this.ends));
  }

  /** What the encoders read: the row of somebody's answers to a questionnaire, by name, or the value itself. @param {any} value */
  held(value) {
    try {
      return this.form && value !== null && typeof value === "object" && !Array.isArray(value) ? this.form.row(value) : value;
    } catch {
      return []; // the value's own code failed
    }
  }

  /** The packed reports of one answer, whatever the value, drawn afresh: charge it first. @param {any} value @param {Uint8Array} id @param {{ entropy?: import("./entropy.js").Entropy, group?: any }} [draw] group: the label of the public group */
  async privatize(value, id, { entropy, group } = {}) {
    const lead = this.lead(group);
    const channels = await this.channelsOf(id);
    const inputs = channels.map((channel) => totalInput(channel, this.held(value)).input);
    return joined(lead, await packed(channels, inputs, id, entropy));
  }
}

/** @param {any} document */
async function readDocument(document) {
  const isFirst = Object.keys(document).sort().join() === FIRST.join();
  const fields = isFirst ? { kind: "round", version: VERSION, share: 1, answers: 1, ...document } : document;
  const optional = ["by", "questions"].filter((key) => Object.hasOwn(fields, key));
  exactly(fields, [...FIELDS, ...optional], "round");
  if (fields.kind !== "round" || fields.version !== VERSION) {
    throw new WireError(`document is a '${fields.kind}' of version ${fields.version}; this client reads a 'round' of version ${VERSION}`);
  }
  const { thresholds: ends, channels: listed, answers, share, round: number } = fields;
  if (!Array.isArray(ends) || ends.length < 1 || ends.length > MAX_CHANNELS) throw new WireError(`thresholds must be a list of 1 to ${MAX_CHANNELS} whole numbers`);
  ends.forEach((end) => whole("thresholds", end, 0, TOTAL));
  if (ends.at(-1) !== TOTAL || ends.some((end, i) => end < (ends[i - 1] ?? 0))) throw new WireError("thresholds must not fall, and the last one must be 2^48");
  if (!Array.isArray(listed) || listed.length !== ends.length) throw new WireError(`the round must have as many channels as thresholds, ${ends.length}`);
  checkWork(listed.map((one) => one?.mechanism));
  /** Attributes that are asked alike share a mechanism, which is certified once. @type {Map<string, Promise<Mechanism>>} */
  const known = new Map();
  const channels = await Promise.all(listed.map((one) => readChannel(one, known)));
  if (new Set(channels.map(({ key }) => key)).size !== channels.length) throw new WireError("the channels of a round must have different keys");
  whole("round", number, 1, 2 ** 32 - 1);
  whole("answers", answers, 1, Math.min(channels.length, Math.floor(MAX_CHANNELS / channels.length)));
  whole("width", fields.width, 1, MAX_WIDTH);
  const by = Object.hasOwn(fields, "by") ? readGroups(fields.by, channels.length) : null;
  return { number, share: real("share", share, 1), answers, ends, channels, by, form: Object.hasOwn(fields, "questions") ? formOf(fields.questions, channels) : null };
}

/** The public groups of a round. @param {any} document @param {number} channels */
function readGroups(document, channels) {
  let found;
  try {
    found = readEncoder(document);
  } catch (error) {
    throw error instanceof DiscreetError ? new WireError(`by must hold the labels of the public groups: ${error.message}`) : error;
  }
  const most = Math.min(MAX_GROUPS, Math.floor(MAX_CHANNELS / channels));
  if (!(found instanceof Categories) || found.size > most) throw new WireError(`by must hold the labels of at most ${most} public groups`);
  if (new Set(found.labels.map(String)).size < found.size) throw new WireError("by must hold labels that differ as texts");
  return found;
}

/** The questions of a round, whose columns its channels must read. @param {any} listed @param {Channel[]} channels */
function formOf(listed, channels) {
  try {
    const form = Form.read(listed);
    for (const { encoder } of channels) form.check(encoder);
    return form;
  } catch (error) {
    throw error instanceof DiscreetError ? new WireError(`questions cannot be asked: ${error.message}`) : error;
  }
}

/** Refuse what would take too long, as messages/limits.py does. @param {any[]} mechanisms */
function checkWork(mechanisms) {
  const distinct = new Map(mechanisms.filter(isObject).map((one) => [canonical(one), one]));
  let work = 0;
  for (const one of distinct.values()) work += Math.max(64, cells(one));
  if (work > MAX_CELLS) throw new WireError(`channels must have at most ${MAX_CELLS} cells`);
}

/** The work of a certificate. @param {any} document @returns {number} */
function cells(document) {
  if (!isObject(document)) return 0;
  const { kind, inputs, weights, parts } = document;
  const [size, width, positions] = ["size", "width", "positions"].map((key) => (Number.isSafeInteger(document[key]) ? Math.max(0, document[key]) : 0));
  const sum = (/** @type {any} */ list, /** @type {any} */ of) => (Array.isArray(list) ? list.reduce((all, one) => all + of(one), 0) : 0);
  if (kind === "table") return sum(weights, (/** @type {any} */ row) => (Array.isArray(row) ? row.length : 0));
  if (kind === "window") return width + (inputs === "interval" ? positions : 0);
  if (kind === "mixture" || kind === "ranged" || kind === "rounded") return (kind === "ranged" ? 2 : 1) * sum(parts, cells);
  if (kind === "subset") return 4 * size;
  if (kind === "agreement") return 2 ** Math.min(Array.isArray(document.sizes) ? document.sizes.length : 0, 16);
  return kind === "unary" || kind === "sketch" ? Math.ceil((kind === "unary" ? size : width) / 64) : 0;
}

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {any} one @param {Map<string, Promise<Mechanism>>} known @returns {Promise<Channel>} */
async function readChannel(one, known) {
  const { key, mechanism: document, mechanism_id, encoder } = exactly(fieldsOf(one, "channel"), CHANNEL, "channel");
  if (typeof key !== "string") throw new WireError("the key of a channel must be a text");
  const text = canonical(fieldsOf(document, "mechanism"));
  if (!known.has(text)) known.set(text, Mechanism.fromParsed(document));
  const mechanism = await /** @type {Promise<Mechanism>} */ (known.get(text));
  if (mechanism_id !== mechanism.id) throw new WireError(`channel '${key}': mechanism_id is not that of its mechanism`);
  try {
    const made = readEncoder(encoder);
    checkFit(mechanism, made);
    return { key, mechanism, document, encoder: made };
  } catch (error) {
    throw error instanceof DiscreetError ? new WireError(`channel '${key}': ${error.message}`) : error;
  }
}

/** @param {any} value @param {string} name */
function fieldsOf(value, name) {
  if (!isObject(value)) throw new WireError(`${name} must be an object`);
  return value;
}

/** @param {any} fields @param {string[]} expected @param {string} name */
function exactly(fields, expected, name) {
  for (const key of expected) if (!Object.hasOwn(fields, key)) throw new WireError(`${name} lacks the field '${key}'`);
  for (const key of Object.keys(fields)) if (!expected.includes(key)) throw new WireError(`${name} has the unknown field '${key}'`);
  return fields;
}

/** @param {string} name @param {any} value @param {number} low @param {number} high */
function whole(name, value, low, high) {
  if (!Number.isSafeInteger(value) || value < low || value > high) throw new WireError(`${name} must be a whole number from ${low} to ${high}`);
}

/** @param {string} name @param {any} value @param {number} high @returns {number} */
function real(name, value, high) {
  const number = plain(value);
  if (typeof number !== "number" || !(number > 0 && number <= high)) throw new WireError(`${name} must be a number above 0 and at most ${high}`);
  return number;
}
