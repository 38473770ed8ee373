// What is asked, and whether it is what the link was made for. The link's pin follows the #, which browsers do not send.
import { $, el } from "./dom.js";
import { Refusal } from "./reasons.js";
import { chooseLanguage, parts, say } from "./words.js";

/** The path of the collector, which need not be at the root of its host. */
export const root = location.pathname.slice(0, location.pathname.lastIndexOf("/c/") + 1);
export const campaign = location.pathname.split("/").at(-1) ?? "";
const PIN = /^([1-9][0-9]{0,9})-([0-9a-f]{64})$/;
const CLOSED = ["scheduled", "closed", "finished"];
const LINKING = ["issued", "invited", "open"];

/** Show the title and the question; return whether it can be answered now. @param {any} asked what /api/campaigns/ID returns */
export function showAsked({ title, question, state, admission, language, consent, contact, unit }) {
  chooseLanguage(language);
  document.title = title;
  for (const [id, text] of [["title", title], ["question", question]]) {
    $(id).textContent = text;
    $(id).hidden = !text;
  }
  $("form").dataset.unit = unit ?? "";
  $("consent").textContent = consent;
  $("consent-row").hidden = !consent;
  const isMail = /^[^\s@/?&]+@[^\s@/?&]+$/.test(contact);
  $("contact").replaceChildren(...parts("contact", { contact: isMail ? el("a", { href: `mailto:${contact}` }, contact) : contact }));
  $("contact").hidden = !contact;
  $("linking").textContent = [...(LINKING.includes(admission) ? [say(`link-${admission}`)] : []), say("link-address")].join(" ");
  if (state !== "open") $("status").textContent = say(CLOSED.includes(state) ? state : "closed");
  return state === "open";
}

/** Whether the person has agreed to what the campaign asks them to agree to, if to anything. */
export const hasAgreed = () => $("consent-row").hidden || $("agree").checked;

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
  if (!expected) throw new Refusal(say("damaged"));
  const pinned = Number(first);
  if (number === pinned && hash === expected) return { pinned };
  const differs = new Refusal(say("swapped", { pinned, expected: short(expected), round: number, hash: short(hash) }));
  if (number <= pinned) throw differs;
  const listed = await history();
  const isListed = (/** @type {number} */ round, /** @type {string} */ sha256) => listed.some((one) => one.round === round && one.sha256 === sha256);
  if (!isListed(pinned, expected) || !isListed(number, hash)) throw differs;
  return { pinned };
}

/** Say what the link vouches for; ask before a round that it does not. @param {string} hash @param {number} number @param {number | null} pinned */
export async function showPin(hash, number, pinned) {
  const name = () => el("code", { dir: "ltr" }, short(hash));
  $("pin").replaceChildren(...parts(pinned === null ? "pin-none" : pinned === number ? "pin-same" : "pin-other", { round: number, hash: name(), pinned }));
  if (pinned === null || pinned === number) return;
  $("later-words").replaceChildren(...parts("later-words", { pinned, round: number, hash: name() }));
  $("go-on").textContent = say("go-on", { round: number });
  $("status").hidden = true;
  $("later").hidden = false;
  await new Promise((resolve) => ($("go-on").onclick = resolve));
  $("later").hidden = true;
  $("title").focus(); // the button that had the focus is gone
}
