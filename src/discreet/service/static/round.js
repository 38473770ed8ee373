// The open round of a campaign, fetched and verified here: nothing of the collector is believed.
import { channelOf, Entropy, Interval, Mechanism, PrivacyError, readEncoder, ticketId, WireError } from "./client/index.js";
import { hex, unhex } from "./client/entropy.js";
import { TOTAL } from "./client/exact.js";

const HEXADECIMAL = /^[0-9a-f]{32}$/;

/** @param {string} path @param {any} [body] */
export async function json(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { credentials: "omit", ...options });
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found.error ?? `the collector answered with status ${response.status}`);
  return found;
}

/** Fetch and check: every certificate again, the claim, the envelope. @param {string} campaign @param {number} limit */
export async function openRound(campaign, limit) {
  const found = await json(`/api/campaigns/${campaign}/round`);
  if (found.campaign !== campaign) throw new WireError("the collector answered for another campaign");
  const channels = await Promise.all(
    found.channels.map(async ({ key, mechanism: document, encoder }) => {
      const mechanism = await Mechanism.fromJSON(JSON.stringify(document), { limit });
      if (mechanism.epsilon > found.epsilon || !mechanism.certificate.ratio.within(found.epsilon)) {
        throw new PrivacyError(`${mechanism.name} has epsilon ${mechanism.certificate.epsilon}; claimed is ${found.epsilon}`);
      }
      return { key, mechanism, document, ...describe(encoder) };
    }),
  );
  const ends = found.thresholds;
  const areOrdered = ends.every((end, i) => Number.isSafeInteger(end) && end >= (ends[i - 1] ?? 0));
  if (!channels.length || ends.length !== channels.length || !areOrdered || ends.at(-1) !== TOTAL) {
    throw new WireError("the round's channels and thresholds do not fit together");
  }
  if (found.width !== Math.max(...channels.map(({ mechanism }) => mechanism.reportBytes))) {
    throw new WireError("the round's width is not that of its mechanisms");
  }
  return { campaign, number: found.round, width: found.width, ends, admission: found.admission, epsilon: found.epsilon, channels };
}

/** What a person is asked for: numbers of an interval, or one of some labels. */
function describe(encoder) {
  if ("attribute" in encoder) {
    const interval = new Interval(encoder.interval.low, encoder.interval.high);
    return { encoder: interval, interval, labels: null, attribute: encoder.attribute };
  }
  const made = readEncoder(encoder);
  return { encoder: made, interval: made.labels ? null : (made.interval ?? made), labels: made.labels ?? null };
}

/**
 * The id under which this device answers: `sent` goes out, `known` decides the channel. Fetched once and kept, so that
 * nobody can reload until they like their channel. `kept`: the id of a report that still waits to be sent.
 */
export async function identity(round, kept = null) {
  const key = `discreet id ${round.campaign} ${round.number}`;
  const ticket = kept ?? new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (round.admission === "invited") {
    if (!HEXADECIMAL.test(ticket ?? "")) throw new Error("this question is for invited people: use the link you were sent");
    return { sent: unhex(ticket), known: await ticketId(unhex(round.campaign), unhex(ticket)) };
  }
  let text = kept ?? localStorage.getItem(key);
  if (!HEXADECIMAL.test(text ?? "")) {
    text = round.admission === "issued"
      ? (await json(`/api/campaigns/${round.campaign}/ids`, { count: 1 })).ids[0]
      : hex(await new Entropy().reportId());
    if (!HEXADECIMAL.test(text)) throw new WireError("the collector did not hand out an id of 16 bytes");
    localStorage.setItem(key, text);
  }
  return { sent: unhex(text), known: unhex(text) };
}

/** The channel that an id answers. */
export const channelFor = async (round, known) =>
  round.channels[await channelOf(unhex(round.campaign), round.number, known, round.ends)];
