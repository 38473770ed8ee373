// The page where people answer: verify, ask, randomise, show, send. `send` sees the report, never the answer.
import { BrowserStorage, Device, Ledger, MEDIA_TYPE, PrivacyError, Ratio, writeUpload } from "./client/index.js";
import { hex, unhex } from "./client/entropy.js";
import { columns, rows } from "./bars.js";
import { $, el, number, percent, svg } from "./dom.js";
import { extremes, law, membership, sure } from "./odds.js";
import { channelFor, identity, openRound } from "./round.js";

const DEFAULT_LIMIT = 4;
const campaign = $("asked").dataset.campaign;
const storage = new BrowserStorage();
const outboxKey = `discreet outbox ${campaign}`;

async function start() {
  showBudget();
  const waiting = JSON.parse(localStorage.getItem(outboxKey) ?? "null");
  const { entries } = await ledger().statement();
  if (!waiting && entries.some(({ task }) => task.startsWith(campaign))) {
    $("status").textContent = "You have already answered this question on this device. Each campaign is answered once.";
    return;
  }
  const round = await openRound(campaign, limit());
  const { sent, known } = await identity(round, waiting?.sent);
  const channel = await channelFor(round, known);
  promise(channel.mechanism, round);
  if (waiting) {
    showReport(round, channel, null, waiting);
    $("status").textContent = "Your randomised answer has not reached the collector yet. Send it again.";
    return;
  }
  refuseAboveLimit(entries, channel.mechanism);
  $("status").hidden = true;
  ask(round, channel, sent, known);
}

/** @param {Error} error */
function refuse(error) {
  const status = $("status");
  status.hidden = false;
  status.classList.add("refused");
  $("form").hidden = $("could").hidden = true;
  const head = error instanceof PrivacyError ? "This page refuses to answer: " : "This cannot be answered now: ";
  status.textContent = `${head}${error.message}.`;
}

// -- the budget -------------------------------------------------------------------------------------------

const limit = () => Number(localStorage.getItem("discreet limit") ?? DEFAULT_LIMIT);
const ledger = () => new Ledger({ storage, limit: limit() });

function refuseAboveLimit(entries, mechanism) {
  const spent = entries.reduce((total, { ratio }) => total.times(Ratio.parse(ratio)), new Ratio(1n));
  const total = spent.times(mechanism.certificate.ratio);
  if (!total.within(Ratio.decimal(limit()))) {
    throw new PrivacyError(`it would bring your total to ε = ${number(total.epsilon)}, above your limit of ${number(limit())}`);
  }
}

async function showBudget() {
  const { entries, epsilon } = await ledger().statement();
  $("budget").hidden = false;
  $("budget-shown").textContent = `${number(epsilon)} of ${number(limit())} spent`;
  $("limit").value = limit();
  $("limit").onchange = () => {
    const wanted = Number($("limit").value);
    if (!(wanted >= 0 && wanted <= 100)) return;
    localStorage.setItem("discreet limit", String(wanted));
    location.reload();
  };
  const cost = (entry) => el("li", {}, `${entry.name}, report ${entry.id.slice(0, 8)}…: ε = ${number(entry.epsilon)}`);
  $("spent").replaceChildren(...entries.map(cost));
}

// -- the question -----------------------------------------------------------------------------------------

function ask(round, channel, sent, known) {
  const field = channel.labels ? choices(channel.labels) : slider(channel.interval);
  $("field").append(...field.nodes);
  if (channel.attribute !== undefined) $("legend").textContent = `Your answer to part ${channel.attribute + 1}`;
  $("form").hidden = false;
  const changed = () => {
    const value = field.value();
    $("draw").disabled = value === null;
    showCould(channel, value);
  };
  for (const event of ["input", "change"]) $("field").addEventListener(event, changed);
  changed();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = field.value();
    if (value === null) return;
    $("draw").disabled = true;
    try {
      const task = `${round.campaign} ${round.number}`;
      const made = await new Device(ledger()).answer(task, channel, value, { id: known }); // charged before it is shown
      const kept = { round: round.number, sent: hex(sent), report: hex(made.report) };
      localStorage.setItem(outboxKey, JSON.stringify(kept));
      $("form").hidden = $("could").hidden = true;
      await showReport(round, channel, value, kept);
      showBudget();
    } catch (error) {
      refuse(/** @type {Error} */ (error));
    }
  });
}

function slider({ low, high }) {
  const span = high - low;
  const isWhole = Number.isInteger(low) && Number.isInteger(high) && span >= 10;
  const step = isWhole ? Math.max(1, Math.round(span / 200)) : span / 200;
  const box = el("input", { type: "number", id: "value", min: low, max: high, step: "any", inputmode: "decimal", "aria-label": "Your answer", autocomplete: "off" });
  const bar = el("input", { type: "range", id: "slide", min: low, max: high, step, "aria-label": "Your answer, approximately", class: "untouched" });
  bar.value = (low + high) / 2;
  bar.addEventListener("input", () => {
    box.value = isWhole ? String(Math.round(bar.valueAsNumber)) : String(Number(bar.valueAsNumber.toPrecision(4)));
    bar.classList.remove("untouched");
  });
  box.addEventListener("input", () => {
    if (box.value !== "") bar.value = box.value;
    bar.classList.toggle("untouched", box.value === "");
  });
  const ends = el("div", { class: "ticks", "aria-hidden": "true" }, el("span", {}, number(low, 9)), el("span", {}, number(high, 9)));
  const value = () => (box.value === "" || !Number.isFinite(box.valueAsNumber) ? null : box.valueAsNumber);
  return { nodes: [box, bar, ends], value };
}

function choices(labels) {
  if (labels.length > 12) {
    const list = el("select", { id: "value", "aria-label": "Your answer", autocomplete: "off" }, el("option", { value: "" }, "Choose …"));
    list.append(...labels.map((label, i) => el("option", { value: i }, String(label))));
    return { nodes: [list], value: () => (list.value === "" ? null : labels[Number(list.value)]) };
  }
  const options = labels.map((label, i) => {
    const radio = el("input", { type: "radio", name: "value", value: i, autocomplete: "off" });
    return el("label", { class: "choice" }, radio, String(label));
  });
  const value = () => {
    const chosen = options.findIndex((option) => option.firstChild.checked);
    return chosen < 0 ? null : labels[chosen];
  };
  return { nodes: options, value };
}

// -- what could be sent, and what will be -----------------------------------------------------------------

const KEY = "Bar: the probability with your answer. Line: from the smallest to the largest probability over all possible answers.";

function showCould({ mechanism, encoder, labels, document }, value) {
  $("could").hidden = value === null;
  if (value === null) return;
  const input = encoder.encode(value);
  const odds = law(mechanism, input);
  const chance = membership(mechanism);
  if (odds) {
    const likeliest = percent(Math.max(...odds));
    $("could-words").textContent = `One of ${number(odds.length, 9)} reports, chosen at random. The likeliest has a probability of ${likeliest}. Every one of them can come from every answer.`;
    $("could-chart").replaceChildren(oddsChart(mechanism, odds, labels, null));
    $("could-key").textContent = KEY;
  } else if (chance && labels) {
    const size = chance.size ? `A set of ${chance.size} of the ${labels.length} choices` : "A set of choices";
    $("could-words").textContent = `${size}, chosen at random. It contains yours with probability ${percent(chance.p)}, and each other choice with probability ${percent(chance.q)}.`;
    $("could-chart").replaceChildren();
    $("could-key").textContent = "";
  } else {
    $("could-words").textContent = `One of ${mechanism.alphabet ? number(Number(mechanism.alphabet), 9) : "very many"} reports, chosen at random. Every one of them can come from every answer.`;
    $("could-chart").replaceChildren();
    $("could-key").textContent = "";
  }
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

async function showReport(round, channel, value, kept) {
  const { mechanism, labels } = channel;
  const packed = unhex(kept.report);
  const code = packed.reduce((sum, byte, i) => sum + (BigInt(byte) << BigInt(8 * i)), 0n);
  const chance = membership(mechanism);
  $("will").hidden = false;
  const holds = (v) => Boolean(packed[v >> 3] & (1 << v % 8));
  if (chance && labels) {
    const chips = labels.map((label, v) => el("span", { class: holds(v) ? "chip open" : "chip off" }, String(label)));
    $("report").replaceChildren("A set: ", el("span", { class: "chips" }, ...chips));
  } else {
    const means = labels && Number(mechanism.alphabet) === labels.length ? ` says “${labels[Number(code)]}”` : "";
    $("report").replaceChildren("Report ", el("strong", { id: "code" }, packed.length <= 8 ? number(Number(code), 17) : `0x${hex(packed.slice(0, 8))}…`), means);
  }
  if (value !== null) await explain(channel, value, packed, code, kept);
  $("send").onclick = () => send(round, kept);
  $("will").focus({ preventScroll: true });
  $("will").scrollIntoView({ block: "start", behavior: "smooth" });
}

async function explain(channel, value, packed, code, kept) {
  const { mechanism, encoder, labels, document, interval } = channel;
  const input = encoder.encode(value);
  const odds = law(mechanism, input);
  const chance = membership(mechanism);
  const words = [];
  if (odds) {
    const [least, most] = extremes(mechanism)[Number(code)];
    words.push(`With your answer, the probability of this report is ${percent(odds[Number(code)])}. With other answers it is between ${percent(least)} and ${percent(most)}: it could have come from anyone.`);
    if (mechanism.kind === "table" && interval && document.values) {
      const stands = interval.low + ((Number(document.values[Number(code)]) + 1) / 2) * (interval.high - interval.low);
      words.push(`The collector counts it as ${number(stands)}, which is right only on average over many people.`);
    }
    $("will-chart").replaceChildren(oddsChart(mechanism, odds, labels, Number(code)));
    $("will-key").textContent = KEY;
  } else if (chance && labels) {
    const isIn = packed[input >> 3] & (1 << input % 8);
    words.push(`Your answer ${isIn ? "is" : "is not"} in the set. It is in the set with probability ${percent(chance.p)}, and every other choice with probability ${percent(chance.q)}. Nobody who sees the set can tell.`);
  } else {
    const { n, d } = mechanism.certificate.ratio;
    words.push(`Someone with any other answer would send the same report at least ${percent(Number((d * 10000n) / n) / 10000)} as often as you.`);
  }
  $("will-words").textContent = words.join(" ");
  const publicWord = await mechanism.publicWord(unhex(kept.sent));
  const others = await mechanism.privatizeAll(Array(6).fill(input), { publicWord }); // discarded
  if (chance && labels) {
    const named = (bits) => labels.filter((_, v) => bits[v >> 3] & (1 << v % 8)).join(", ") || "nothing";
    $("instead").textContent = `It could also have been: ${others.slice(0, 3).map((bits) => `{${named(bits)}}`).join(" or ")}.`;
  } else if (!(others[0] instanceof Uint8Array)) {
    const named = (report) => (labels && odds && odds.length === labels.length ? labels[Number(report)] : number(Number(report), 17));
    $("instead").textContent = `It could also have been: ${others.map(named).join(" · ")} (drawn with your answer just now, and discarded).`;
  }
}

function promise(mechanism, round) {
  const { ratio, epsilon, claimed } = mechanism.certificate;
  const most = sure(ratio);
  const times = number(Number((ratio.n * 1000n) / ratio.d + 1n) / 1000, 3);
  const [left, right] = [Math.round(100 * most), 100 - Math.round(100 * most)];
  $("meter").replaceChildren(
    svg("svg", { class: "chart meter", viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": `at most ${left} to ${right}` },
      svg("rect", { class: "axis", x: 0, y: 4, width: 100, height: 12 }),
      svg("rect", { class: "drawn", x: 0, y: 4, width: 200 * (most - 0.5), height: 12 })),
    el("div", { class: "ticks", "aria-hidden": "true" }, el("span", {}, "50 : 50"), el("span", {}, `at most ${left} : ${right}`), el("span", {}, "100 : 0")),
  );
  $("promise-words").textContent = `Suppose someone thinks two possible answers of yours equally likely, 50 : 50. Your report can move them to at most ${left} : ${right}, whatever else they know. No report is more than ${times} times as likely from one answer as from another (ε = ${number(claimed)}).`;
  const checks = [
    `This page computed ε = ${epsilon} from all possible reports and their probabilities (${mechanism.name}). The collector claims ${claimed}. A mechanism above its claim is refused.`,
    `Randomness comes from your browser's cryptographic generator.`,
    `What is sent: the campaign, the round, a random id and ${round.width} ${round.width === 1 ? "byte" : "bytes"} of report. Every answer has the same length.`,
    `The collector stores no addresses and no times, only the day.`,
  ];
  $("checks").replaceChildren(...checks.map((text) => el("li", {}, text)));
  $("promise").hidden = false;
}

// -- sending ----------------------------------------------------------------------------------------------

const SAID = {
  accepted: "Sent and counted. Thank you.",
  replayed: "It had already arrived, and is counted once. Thank you.",
  closed: "The round closed before your report arrived, so it is not counted.",
};

async function send(round, kept) {
  $("send").disabled = true;
  $("send-error").textContent = "";
  const body = writeUpload(unhex(campaign), kept.round, round.width, [{ id: unhex(kept.sent), report: unhex(kept.report) }]);
  try {
    const response = await fetch("/api/reports", { method: "POST", credentials: "omit", headers: { "content-type": MEDIA_TYPE }, body });
    const found = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(found.error ?? `status ${response.status}`);
    const status = found.statuses[0]?.status ?? "accepted";
    localStorage.removeItem(outboxKey);
    $("status").hidden = true;
    $("send-row").hidden = true;
    $("will-title").textContent = status === "accepted" || status === "replayed" ? "This was sent" : "Not counted";
    $("sent").textContent = `${SAID[status] ?? `The collector refused it: ${status}.`} ${body.length} bytes left this page.`;
  } catch (error) {
    $("send").disabled = false;
    $("send-error").textContent = `It did not arrive (${/** @type {Error} */ (error).message}). It is kept here. Send it again: it counts only once.`;
  }
}

if ($("status")) start().catch(refuse);
