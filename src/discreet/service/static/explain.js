// Explanations: what could be sent, what will be sent, and how private it is. Everything is computed on this device.
import { unhex } from "./client/entropy.js";
import { columns, rows } from "./bars.js";
import { $, el, number, percent, svg } from "./dom.js";
import { extremes, law, membership, sure } from "./odds.js";
import { inOrder, ratioOf } from "./round.js";

const KEY = "Bar: the probability with your answer. Line: from the smallest to the largest probability over all possible answers.";

/**
 * A paragraph and a chart for each channel, in the order of the form; where there are several, each with its name.
 * @param {any[]} channels @param {{ words: string, chart?: Element, instead?: string }[]} found
 */
function paragraphs(channels, found) {
  const name = (channel) => (channels.length > 1 ? [el("strong", {}, `${channel.name}. `)] : []);
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
  $("could-key").textContent = found.some(({ chart }) => chart) ? KEY : "";
}

function could({ mechanism, single, meanings: labels, interval }, value) {
  const odds = law(mechanism, single.encode(value));
  const chance = membership(mechanism);
  if (odds) {
    const likeliest = percent(Math.max(...odds));
    if (labels && interval) {
      const words = `Your number stays here. It is ${labels[single.encode(value)]}, and the report says so with a probability of ${likeliest}, or the contrary. Both can come from every answer.`;
      return { words, chart: oddsChart(mechanism, odds, labels, null) };
    }
    const words = `One of ${number(odds.length, 9)} reports, chosen at random. The likeliest has a probability of ${likeliest}. Every one of them can come from every answer.`;
    return { words, chart: oddsChart(mechanism, odds, labels, null) };
  }
  if (chance && labels) {
    const size = chance.size ? `A set of ${chance.size} of the ${labels.length} choices` : "A set of choices";
    return { words: `${size}, chosen at random. It contains yours with probability ${percent(chance.p)}, and each other choice with probability ${percent(chance.q)}.` };
  }
  const count = mechanism.alphabet ? number(Number(mechanism.alphabet), 9) : "very many";
  return { words: `One of ${count} reports, chosen at random. Every one of them can come from every answer.` };
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
  return columns(bars, group > 1 ? "reports, in groups" : "reports");
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
  $("will-key").textContent = found.some(({ chart }) => chart) ? KEY : "";
}

const holds = (packed, v) => Boolean(packed[v >> 3] & (1 << v % 8));

/** A report as people read it. */
function named({ mechanism, meanings: labels }, packed, code, id) {
  if (membership(mechanism) && labels) {
    const chips = labels.map((label, v) => el("span", { class: holds(packed, v) ? "chip open" : "chip off" }, String(label)));
    return ["A set: ", el("span", { class: "chips" }, ...chips)];
  }
  const means = labels && Number(mechanism.alphabet) === labels.length ? ` says “${labels[Number(code)]}”` : "";
  const shown = packed.length <= 8 ? number(Number(code), 17) : `0x${[...packed.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}…`;
  return ["Report ", el("strong", { id }, shown), means];
}

async function explain({ mechanism, single, meanings: labels, document, interval }, value, packed, code, id) {
  const input = single.encode(value);
  const odds = law(mechanism, input);
  const chance = membership(mechanism);
  const others = await mechanism.privatizeAll(Array(6).fill(input), { publicWord: await mechanism.publicWord(id) }); // discarded
  if (odds) {
    const [least, most] = extremes(mechanism)[Number(code)];
    const words = [`With your answer, the probability of this report is ${percent(odds[Number(code)])}. With other answers it is between ${percent(least)} and ${percent(most)}: it could have come from anyone.`];
    if (mechanism.kind === "table" && interval && document.values) {
      const stands = interval.low + ((Number(document.values[Number(code)]) + 1) / 2) * (interval.high - interval.low);
      words.push(`The collector counts it as ${number(stands)}, which is right only on average over many people.`);
    }
    const isLabel = labels && odds.length === labels.length;
    return { words: words.join(" "), chart: oddsChart(mechanism, odds, labels, Number(code)), instead: instead(others, (report) => (isLabel ? labels[Number(report)] : number(Number(report), 17))) };
  }
  if (chance && labels) {
    const set = (bits) => labels.filter((_, v) => holds(bits, v)).join(", ") || "nothing";
    return {
      words: `Your answer ${holds(packed, input) ? "is" : "is not"} in the set. It is in the set with probability ${percent(chance.p)}, and every other choice with probability ${percent(chance.q)}. Nobody who sees the set can tell.`,
      instead: `It could also have been: ${others.slice(0, 3).map((bits) => `{${set(bits)}}`).join(" or ")}.`,
    };
  }
  const { n, d } = mechanism.certificate.ratio;
  const words = `Someone with any other answer would send the same report at least ${percent(Number((d * 10000n) / n) / 10000)} as often as you.`;
  return { words, instead: others[0] instanceof Uint8Array ? "" : instead(others, (report) => number(Number(report), 17)) };
}

const instead = (others, spelled) => `It could also have been: ${others.map(spelled).join(" · ")} (drawn with your answer just now, and discarded).`;

/** Show how private the answers to these channels are. @param {any[]} channels @param {import("./client/round.js").Round} round */
export function showPromise(channels, round) {
  const ratio = ratioOf(channels);
  const most = sure(ratio);
  const times = number(Number((ratio.n * 1000n) / ratio.d + 1n) / 1000, 3);
  const [left, right] = [Math.round(100 * most), 100 - Math.round(100 * most)];
  $("meter").replaceChildren(
    svg("svg", { class: "chart meter", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": `at most ${left} to ${right}` },
      svg("rect", { class: "axis", x: 0, y: 4, width: 100, height: 12 }),
      svg("rect", { class: "drawn", x: 0, y: 4, width: 200 * (most - 0.5), height: 12 })),
    el("div", { class: "ticks", "aria-hidden": "true" }, el("span", {}, "50 : 50"), el("span", {}, `at most ${left} : ${right}`), el("span", {}, "100 : 0")),
  );
  $("promise-words").textContent = `Suppose someone thinks two possible answers of yours equally likely, 50 : 50. Your report can move them to at most ${left} : ${right}, whatever else they know. No report is more than ${times} times as likely from one answer as from another (ε\u00a0=\u00a0${number(round.epsilon)}).`;
  const names = channels.map(({ mechanism }) => mechanism.name).join(" and ");
  const checks = [
    `This page computed ε = ${ratio.epsilon} from all possible reports and their probabilities (${names}). The collector claims ${round.epsilon}. A mechanism above its claim is refused.`,
    "Randomness comes from your browser's cryptographic generator.",
    `What is sent: the campaign, the round, a random id and ${round.width} ${round.width === 1 ? "byte" : "bytes"}${round.by ? ": your group, which is not randomised, and the report" : " of report"}. Every answer has the same length.`,
    "The collector stores no addresses and no times, only the day.",
  ];
  $("checks").replaceChildren(...checks.map((text) => el("li", {}, text)));
  $("promise").hidden = false;
}
