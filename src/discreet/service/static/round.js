// The open round of a campaign, fetched here and verified by the client: nothing of the collector is believed.
import { Attribute, Entropy, Round, ticketId, WireError } from "./client/index.js";
import { hex, unhex } from "./client/entropy.js";

const HEXADECIMAL = /^[0-9a-f]{32}$/;

/** @param {string} path @param {any} [body] */
export async function json(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { credentials: "omit", ...options });
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found.error ?? `the collector answered with status ${response.status}`);
  return found;
}

/** Fetch and verify. @param {string} campaign @param {number} limit */
export async function openRound(campaign, limit) {
  return Round.read(await json(`/api/campaigns/${campaign}/round`), { limit, campaign });
}

/** What a person is asked for in a channel: a number of an interval, or one of some labels. @param {import("./client/round.js").Channel} channel */
function describe(channel) {
  const { encoder } = channel;
  // Asked for one attribute of a row, a person gives that number alone.
  if (encoder instanceof Attribute) return { ...channel, encoder: encoder.interval, interval: encoder.interval, labels: null, attribute: encoder.index };
  return { ...channel, interval: encoder.labels ? null : (encoder.interval ?? encoder), labels: encoder.labels ?? null };
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
export const channelFor = async (round, known) => describe((await round.channelsOf(known))[0]);
