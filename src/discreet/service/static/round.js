// The open round of a campaign, fetched here and verified by the client, which takes nothing on trust.
import { Answers, Attribute, Below, Bucket, Entropy, GroupValue, Ratio, Round, SignedValue, ticketId, WireError } from "./client/index.js";
import { hex, sha256, unhex, utf8 } from "./client/entropy.js";
import { checkPin, root } from "./asked.js";
import { $ } from "./dom.js";
import { isKiosk, storage } from "./kiosk.js";
import { patiently } from "./patience.js";
import { block } from "./questions.js";
import { CollectorError, PageError } from "./reasons.js";
import { say } from "./words.js";

const HEXADECIMAL = /^[0-9a-f]{32}$/;

/** Fetch, waiting where the collector is busy; an error has its sentence. @param {string} path @param {any} [body] */
async function json(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const before = $("status").textContent;
  const response = await patiently(`${root}api/campaigns/${path}`, options, (sentence) => ($("status").textContent = sentence || before));
  if (response.ok) return response.json();
  throw new CollectorError((await response.json().catch(() => ({}))).error ?? "no reason", response.status);
}

/**
 * Everything that a page needs to ask, in one request: what the campaign is about, the text of its open round, and an
 * id where the collector hands them out and this device has none.
 * @param {string} campaign @param {boolean} wantsId @returns {Promise<{ about: any, text: string | null, id: string | null }>}
 */
export async function asking(campaign, wantsId) {
  const hasOne = Object.keys(isKiosk ? {} : localStorage).some((key) => key.startsWith(keyOf(campaign, "")));
  const { campaign: about, round, id } = await json(`${campaign}/ask`, { id: wantsId && !hasOne });
  return { about, text: round, id };
}

/** Verify a round, and compare it with the link; `hash` is that of its text. @param {string} campaign @param {string | null} text */
export async function verified(campaign, text) {
  if (text === null) throw new PageError(say("no-round"));
  const hash = hex(await sha256(utf8(text)));
  const round = await Round.read(text, { campaign });
  const { pinned } = await checkPin(hash, round.number, async () => (await json(`${campaign}/rounds`)).rounds);
  return { round, hash, pinned };
}

/** Where the id of a round is kept. @param {string} campaign @param {number | ""} number */
const keyOf = (campaign, number) => `discreet id ${campaign} ${number}`;

/** Drop the id of a round that was answered: the ledger knows it. @param {string} campaign @param {number} number */
export const forgetIdentity = (campaign, number) => isKiosk || localStorage.removeItem(keyOf(campaign, number));

/**
 * The id under which this device answers: `sent` is uploaded, `known` decides the channels. It is fetched once and kept,
 * so that nobody can reload until they get the channels they like.
 * @param {Round} round @param {string | null} offered what the collector handed out
 */
export async function identity(round, offered) {
  const key = keyOf(round.campaign, round.number);
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (round.admission === "invited") {
    if (!HEXADECIMAL.test(ticket ?? "")) throw new PageError(say("invited-only"));
    return { sent: unhex(ticket), known: await ticketId(unhex(round.campaign), unhex(ticket)) };
  }
  let text = storage.get(key);
  if (!HEXADECIMAL.test(text ?? "")) {
    const handedOut = async () => offered ?? (await json(`${round.campaign}/ask`, { id: true })).id;
    text = round.admission === "issued" ? await handedOut() : hex(await new Entropy().reportId());
    if (!HEXADECIMAL.test(text ?? "")) throw new WireError("the collector did not hand out an id of 16 bytes");
    storage.set(key, text);
  }
  return { sent: unhex(text), known: unhex(text) };
}

/** The channels that an id answers, with what the page needs to ask for each. @param {Round} round @param {Uint8Array} known @param {string[]} [names] */
export const channelsFor = async (round, known, names = []) => (await round.channelsOf(known)).map((channel) => (round.form ? block(round.form, channel) : describe(channel, names)));

/**
 * `single` encodes the one number or label that a person enters for a channel; `encoder`, which the report is made with,
 * may read it from a row of attributes.
 * @param {import("./client/round.js").Channel} channel @param {string[]} names of the attributes, where they have some
 */
function describe(channel, names) {
  const { encoder } = channel;
  const isColumn = encoder instanceof Answers && encoder.columns.length === 1; // one threshold of one number of a row
  const attribute = encoder instanceof Attribute ? encoder.index : isColumn ? encoder.columns[0] : null;
  const single = encoder instanceof Attribute ? encoder.interval : isColumn ? encoder.encoders[0] : encoder;
  const interval = single.labels ? null : (single.interval ?? single);
  const labels = single.labels ?? null;
  // A report about a threshold says yes or no, although the person enters a number: it is compared on this device.
  const meanings = single instanceof Below ? [say("more-than", { threshold: single.threshold }), say("at-most", { threshold: single.threshold })] : labels;
  const parts = partsOf(single);
  if (parts) return { ...channel, attribute, single, interval: null, labels: null, parts, meanings: combined(parts), name: $("legend").textContent };
  return { ...channel, attribute, single, interval, labels, meanings, name: attribute === null ? $("legend").textContent : (names[attribute] ?? String(attribute)) !== String(attribute) ? names[attribute] : say("part", { part: attribute + 1 }) };
}

/**
 * The two answers that a person enters where one report tells both: a secret group and a number, or two sides of a table.
 * @param {any} encoder
 */
function partsOf(encoder) {
  if (encoder instanceof GroupValue || encoder instanceof SignedValue) return [{ labels: encoder.groups.labels, interval: null }, { labels: null, interval: encoder.interval }];
  if (!(encoder instanceof Answers)) return null;
  return encoder.encoders.map((one) => (one instanceof Bucket ? { labels: null, interval: one.interval, bins: one.bins } : { labels: one.labels, interval: null }));
}

/** What each cell of a table says, the first side changing slowest; null where there are no cells, or too many. @param {any[]} parts */
function combined(parts) {
  const sides = parts.map(({ labels, interval, bins }) => labels ?? (bins && ranges(interval, bins)));
  if (!sides.every(Boolean) || sides.reduce((product, side) => product * side.length, 1) > 4096) return null;
  return sides.reduce((all, side) => all.flatMap((one) => side.map((label) => (one ? `${one}, ${label}` : String(label)))), [""]);
}

/** @param {{ low: number, high: number }} interval @param {number} bins */
const ranges = ({ low, high }, bins) => Array.from({ length: bins }, (_, i) => [i, i + 1].map((k) => Number((low + ((high - low) * k) / bins).toPrecision(6))).join(" – "));

/** The places of channels in the order in which a person is asked: by attribute. @param {{ attribute: number | null }[]} channels */
export const inOrder = (channels) => [...channels.keys()].sort((i, j) => channels[i].attribute - channels[j].attribute);

/** What the answers to some channels reveal together. @param {{ mechanism: any }[]} channels @returns {Ratio} */
export const ratioOf = (channels) => channels.reduce((total, { mechanism }) => total.times(mechanism.certificate.ratio), new Ratio(1n));
