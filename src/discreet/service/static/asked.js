// What is asked, and whether it is what the link was made for. The link's pin follows the #, which browsers do not send.
import { PrivacyError } from "./client/index.js";
import { $, el } from "./dom.js";

export const campaign = location.pathname.split("/").at(-1) ?? "";
const PIN = /^([1-9][0-9]{0,9})-([0-9a-f]{64})$/;
const CLOSED = { scheduled: "This question opens later.", closed: "This question is closed.", finished: "This question is finished. Thank you." };
const LINKING = {
  issued: "The collector hands out the id under which you answer. It could note who fetched which id, and so link your randomised report to your visit. It says that it does not, but cannot prove it.",
  invited: "Whoever sent you the link knows which ticket is yours, and could link your randomised report to you.",
  open: "This device draws the id under which you answer. The collector never sees it before your report, so the id links nothing to you.",
};

/** Show the title and the question; return whether it can be answered now. @param {any} asked what /api/campaigns/ID returns */
export function showAsked({ title, question, state, admission }) {
  document.title = title;
  for (const [id, text] of [["title", title], ["question", question]]) {
    $(id).textContent = text;
    $(id).hidden = !text;
  }
  $("linking").textContent = `${LINKING[admission] ?? ""} Your network address can link too, whatever the id.`;
  if (state !== "open") $("status").textContent = CLOSED[state] ?? `This question is ${state}.`;
  return state === "open";
}

/** How people read a hash. @param {string} hash */
export const short = (hash) => (hash.slice(0, 16).match(/.{4}/g) ?? []).join("\u202f");

/**
 * Compare the round that the collector sent with the one that the link was made for.
 * @param {string} hash of the round's document @param {number} number of the round
 * @param {() => Promise<{ round: number, sha256: string }[]>} history the rounds that the collector lists publicly
 * @returns {Promise<{ pinned: number | null }>} the number of the link's round, if the link has one
 */
export async function checkPin(hash, number, history) {
  const text = new URLSearchParams(location.hash.slice(1)).get("round");
  if (text === null) return { pinned: null };
  const [, first, expected] = PIN.exec(text) ?? [];
  if (!expected) throw new PrivacyError("your link is damaged, so the question cannot be compared with it; ask for the link again");
  const pinned = Number(first);
  if (number === pinned && hash === expected) return { pinned };
  const differs = new PrivacyError(`your link was made for round ${pinned} with the hash ${short(expected)}, but the collector sent round ${number} with ${short(hash)}. Tell whoever gave you the link`);
  if (number <= pinned) throw differs;
  const listed = await history();
  const isListed = (/** @type {number} */ round, /** @type {string} */ sha256) => listed.some((one) => one.round === round && one.sha256 === sha256);
  if (!isListed(pinned, expected) || !isListed(number, hash)) throw differs;
  return { pinned };
}

/** Say what the link vouches for; ask before a round that it does not. @param {string} hash @param {number} number @param {number | null} pinned */
export async function showPin(hash, number, pinned) {
  const name = el("code", {}, short(hash));
  $("pin").replaceChildren(`This is round ${number} with the hash `, name, pinned === null
    ? ". Your link does not say which round it was made for: compare the hash with other people's, or with the collector's dashboard."
    : pinned === number ? ", the same as in your link." : `. Your link was made for round ${pinned}.`);
  if (pinned === null || pinned === number) return;
  $("later-words").replaceChildren(`It was made for round ${pinned}. Since then, the collector has opened round ${number} with the hash `, name.cloneNode(true),
    ". Your link cannot vouch for it. The limits on what you reveal hold all the same; to be sure that everyone is asked the same, compare the hash with other people's, or ask for a new link.");
  $("go-on").textContent = `Go on with round ${number}`;
  $("status").hidden = true;
  $("later").hidden = false;
  await new Promise((resolve) => ($("go-on").onclick = resolve));
  $("later").hidden = true;
  $("title").focus(); // the button that had the focus is gone
}
