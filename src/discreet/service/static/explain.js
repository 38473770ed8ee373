// Explanations: what could be sent, what will be sent, and how private it is. Everything is computed on this device.
import { unhex } from "./client/entropy.js";
import { columns, rows } from "./bars.js";
import { $, el, number, percent, svg } from "./dom.js";
import { extremes, law, membership, sure } from "./odds.js";
import { inOrder, ratioOf } from "./round.js";
import { parts as worded, say } from "./words.js";

/**
 * A paragraph and a chart for each channel, in the order of the form; where there are several, each with its name.
 * @param {any[]} channels @param {{ words: string, chart?: Element, instead?: string }[]} found
 */
function paragraphs(channels, found) {
  const name = (channel) => (channels.length > 1 || channel.columns?.length > 1 ? [el("strong", {}, `${channel.name}. `)] : []);
  return inOrder(channels).flatMap((i) => [
    el("p", {}, ...name(channels[i]), found[i].words),
    ...(found[i].chart ? [found[i].chart] : []),
    ...(found[i].instead ? [el("p", { class: "quiet" }, found[i].instead)] : []),
  ]);
}

/** Show what these answers could send. @param {any[]} channels @param {any[] | null} values */
export function showCould(channels, values) {
  $("could").hidden = values === null;
  if (values === null) return;
  const found = channels.map((channel, i) => could(channel, values[i]));
  $("could-words").replaceChildren(...paragraphs(channels, found));
  $("could-key").textContent = found.some(({ chart }) => chart) ? say("key") : "";
}

function could({ mechanism, single, meanings: labels, interval }, value) {
  const odds = law(mechanism, single.encode(value));
  const chance = membership(mechanism);
  if (odds) {
    const likeliest = percent(Math.max(...odds));
    if (labels && interval) {
      const words = say("could-threshold", { side: labels[single.encode(value)], p: likeliest });
      return { words, chart: oddsChart(mechanism, odds, labels, null) };
    }
    const words = say("could-one", { count: number(odds.length, 9), p: likeliest });
    return { words, chart: oddsChart(mechanism, odds, labels, null) };
  }
  if (chance && mechanism.kind === "padded") {
    return { words: say("could-ticks", { size: chance.size, count: labels.length, most: mechanism.most, p: percent(chance.p), q: percent(chance.q) }) };
  }
  if (chance && labels) {
    return { words: say(chance.size ? "could-set-of" : "could-set", { size: chance.size, count: labels.length, p: percent(chance.p), q: percent(chance.q) }) };
  }
  return { words: mechanism.alphabet ? say("could-many", { count: number(Number(mechanism.alphabet), 9) }) : say("could-very-many") };
}

function oddsChart(mechanism, odds, labels, drawn) {
  const bounds = extremes(mechanism);
  if (labels && odds.length === labels.length && odds.length <= 16) {
    return rows(labels.map((label, i) => ({ label: String(label), p: odds[i], bounds: bounds[i], isDrawn: i === drawn })));
  }
  const group = Math.ceil(odds.length / 24);
  const bars = Array.from({ length: Math.ceil(odds.length / group) }, (_, g) => {
    const [start, end] = [g * group, Math.min((g + 1) * group, odds.length)];
    const sum = (/** @type {(j: number) => number} */ at) => {
      let total = 0;
      for (let j = start; j < end; j++) total += at(j);
      return total;
    };
    const range = [sum((j) => bounds[j][0]), sum((j) => bounds[j][1])];
    return { label: end - start > 1 ? `${start}–${end - 1}` : `${start}`, p: sum((j) => odds[j]), bounds: range, isDrawn: drawn !== null && drawn >= start && drawn < end };
  });
  return columns(bars, say(group > 1 ? "reports-grouped" : "reports"));
}

/** Show the reports that will be sent, and with the answers at hand also why they reveal little. @param {any[]} channels @param {any[] | null} values @param {{ report: string, sent: string }} kept @param {import("./client/round.js").Round} round */
export async function showWill(channels, values, kept, { by }) {
  const packed = unhex(kept.report);
  let start = by ? 2 : 0;
  const parts = channels.map(({ mechanism }) => packed.subarray(start, (start += mechanism.reportBytes)));
  const codes = parts.map((part) => part.reduce((sum, byte, i) => sum + (BigInt(byte) << BigInt(8 * i)), 0n));
  const shown = inOrder(channels).map((i, place) => named(channels[i], parts[i], codes[i], place ? null : "code"));
  const group = by ? [String(by.labels[packed[0] + 256 * packed[1]]), ": "] : [];
  $("report").replaceChildren(...group, ...shown.flatMap((nodes, place) => [place ? ", " : "", ...nodes]));
  $("will").hidden = false;
  if (values === null) return;
  const found = await Promise.all(channels.map((channel, i) => explain(channel, values[i], parts[i], codes[i], unhex(kept.sent))));
  $("will-words").replaceChildren(...paragraphs(channels, found));
  $("will-key").textContent = found.some(({ chart }) => chart) ? say("key") : "";
}

const holds = (packed, v) => Boolean(packed[v >> 3] & (1 << v % 8));

/** A report as people read it. */
function named({ mechanism, meanings: labels }, packed, code, id) {
  if (membership(mechanism) && labels) {
    const chips = labels.map((label, v) => el("span", holds(packed, v) ? { class: "chip open" } : { class: "chip off", "aria-hidden": "true" }, String(label)));
    return worded("report-set", { set: el("span", { class: "chips" }, ...chips) });
  }
  const label = labels && Number(mechanism.alphabet) === labels.length ? labels[Number(code)] : null;
  const shown = packed.length <= 8 ? number(Number(code), 17) : `0x${[...packed.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}…`;
  return worded(label === null ? "report" : "report-says", { code: el("strong", { id }, shown), label });
}

async function explain({ mechanism, single, meanings: labels, document, interval }, value, packed, code, id) {
  const input = single.encode(value);
  const odds = law(mechanism, input);
  const chance = membership(mechanism);
  const others = await mechanism.privatizeAll(Array(6).fill(input), { publicWord: await mechanism.publicWord(id) }); // discarded
  if (odds) {
    const [least, most] = extremes(mechanism)[Number(code)];
    const words = [say("why", { p: percent(odds[Number(code)]), least: percent(least), most: percent(most) })];
    if (mechanism.kind === "table" && interval && document.values) {
      const stands = interval.low + ((Number(document.values[Number(code)]) + 1) / 2) * (interval.high - interval.low);
      words.push(say("counts-as", { number: number(stands) }));
    }
    const isLabel = labels && odds.length === labels.length;
    return { words: words.join(" "), chart: oddsChart(mechanism, odds, labels, Number(code)), instead: instead(others, (report) => (isLabel ? labels[Number(report)] : number(Number(report), 17))) };
  }
  if (chance && mechanism.kind === "padded") {
    return { words: say("why-ticks", { p: percent(chance.p), q: percent(chance.q) }) };
  }
  if (chance && labels) {
    const set = (bits) => labels.filter((_, v) => holds(bits, v)).join(", ") || say("nothing");
    return {
      words: say(holds(packed, input) ? "in-set" : "not-in-set", { p: percent(chance.p), q: percent(chance.q) }),
      instead: say("instead-sets", { others: others.slice(0, 3).map((bits) => `{${set(bits)}}`).join(" · ") }),
    };
  }
  const { n, d } = mechanism.certificate.ratio;
  const words = say("why-many", { p: percent(Number((d * 10000n) / n) / 10000) });
  return { words, instead: others[0] instanceof Uint8Array ? "" : instead(others, (report) => number(Number(report), 17)) };
}

const instead = (others, spelled) => say("instead", { others: others.map(spelled).join(" · ") });

/** Show how private the answers to these channels are. @param {any[]} channels @param {import("./client/round.js").Round} round */
export function showPromise(channels, round) {
  const ratio = ratioOf(channels);
  const most = sure(ratio);
  const times = number(Number((ratio.n * 1000n) / ratio.d + 1n) / 1000, 3);
  const [left, right] = [Math.round(100 * most), 100 - Math.round(100 * most)];
  $("meter").replaceChildren(
    svg("svg", { class: "chart meter", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": say("odds", { left, right }) },
      svg("rect", { class: "axis", x: 0, y: 4, width: 100, height: 12 }),
      svg("rect", { class: "drawn", x: 0, y: 4, width: 200 * (most - 0.5), height: 12 })),
    el("div", { class: "ticks", "aria-hidden": "true" }, el("span", {}, "50 : 50"), el("span", {}, say("odds", { left, right })), el("span", {}, "100 : 0")),
  );
  $("promise-words").textContent = say("promise", { left, right, times, epsilon: number(round.epsilon) });
  const names = channels.map(({ mechanism }) => mechanism.name).join(", ");
  const checks = [
    say("check-epsilon", { exact: ratio.epsilon, names, claimed: round.epsilon }),
    say("check-random"),
    say(round.by ? "check-sent-group" : "check-sent", { n: round.width }),
    say("check-stored"),
  ];
  $("checks").replaceChildren(...checks.map((text) => el("li", {}, text)));
  $("promise").hidden = false;
}
