// The owner's budget: what was spent on this device, the limit, and what happens where a question asks for more.
import { Ledger, Ratio } from "./client/index.js";
import { $, el, number, percent } from "./dom.js";
import { isKiosk, storage } from "./kiosk.js";
import { sure } from "./odds.js";
import { Refusal } from "./reasons.js";
import { say } from "./words.js";

/** What a device allows in all until its owner says otherwise; the collector's form warns above it. */
const DEFAULT_LIMIT = 4;
const HIGHEST = 100;

/** The ledger of this browser: it keeps its own limit, which only its owner changes. */
export async function ownLedger() {
  if (isKiosk) return new Ledger({ storage, limit: DEFAULT_LIMIT });
  const chosen = localStorage.getItem("discreet limit"); // where pages before 0.2 kept it
  const fresh = new Ledger({ storage });
  const isNew = !/"version"/.test(storage.get(fresh.key) ?? ""); // or from before ledgers wrote their limit
  const ledger = isNew ? new Ledger({ storage, limit: Number(chosen ?? DEFAULT_LIMIT) }) : fresh;
  if (chosen !== null) await ledger.changeLimit(Number(chosen));
  localStorage.removeItem("discreet limit");
  return ledger;
}

/** Show what was spent, and let the owner change the limit. @param {Ledger} ledger */
export async function showBudget(ledger) {
  if (isKiosk) return;
  const { entries, epsilon, limit } = await ledger.statement();
  $("budget").hidden = false;
  $("budget-shown").textContent = say("spent", { spent: number(epsilon), limit: number(limit) });
  $("limit").value = limit;
  $("limit").onchange = async () => {
    const wanted = Number($("limit").value);
    if (!(wanted >= 0 && wanted <= HIGHEST)) return;
    await ledger.changeLimit(wanted);
    location.reload();
  };
  const cost = (entry) => el("li", {}, say("spent-one", { name: entry.name, id: entry.id.slice(0, 8), epsilon: number(entry.epsilon) }));
  $("spent").replaceChildren(...entries.map(cost));
}

/**
 * Go on if an answer keeps the limit. Otherwise say in plain words what it would cost, and wait until the owner raises
 * the limit on the spot; who does not want to simply leaves.
 * @param {Ledger} ledger @param {Ratio} ratio what the answer costs
 */
export async function withinLimit(ledger, ratio) {
  const { entries, epsilon: spent, limit } = await ledger.statement();
  const total = entries.reduce((sum, entry) => sum.times(Ratio.parse(entry.ratio)), ratio);
  if (total.within(Ratio.decimal(limit))) return;
  const wanted = Math.ceil(10 * total.epsilon) / 10;
  if (wanted > HIGHEST) throw new Refusal(say("no-protection", { total: number(total.epsilon) }));
  const words = [
    [say("raise-why", { limit: number(limit) }), entries.length ? say("raise-earlier", { spent: number(spent) }) : "", say("raise-cost", { cost: number(ratio.epsilon) })].filter(Boolean).join(" "),
    say("raise-means", { sure: percent(sure(ratio)) }),
  ];
  $("raise-words").replaceChildren(...words.map((text) => el("p", {}, text)));
  $("raise-limit").textContent = say("raise-limit", { limit: number(wanted) });
  $("status").hidden = true;
  $("raise").hidden = false;
  await new Promise((resolve) => ($("raise-limit").onclick = resolve));
  await ledger.changeLimit(wanted);
  $("raise").hidden = true;
  await showBudget(ledger);
  $("title").focus(); // the button that had the focus is gone
}
