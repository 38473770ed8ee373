// The page where people answer: verify, ask, randomise, show, send. `send` sees the report, never the answer.
import { Device, Ledger, MEDIA_TYPE, PrivacyError, Ratio, writeUpload } from "./client/index.js";
import { hex, unhex } from "./client/entropy.js";
import { campaign, showAsked, showPin } from "./asked.js";
import { $, el, number } from "./dom.js";
import { showCould, showPromise, showWill } from "./explain.js";
import { fieldFor } from "./fields.js";
import { endKiosk, isKiosk, startKiosk, storage } from "./kiosk.js";
import { blockFields, partWords } from "./questions.js";
import { channelsFor, forgetIdentity, identity, inOrder, json, openRound, ratioOf } from "./round.js";
import { chooseLanguage, say } from "./words.js";

const DEFAULT_LIMIT = 4;

async function start() {
  chooseLanguage();
  startKiosk();
  const about = await json(`/api/campaigns/${campaign}`);
  if (!showAsked(about)) return;
  const ledger = await ownLedger();
  const device = new Device(ledger);
  await showBudget(ledger);
  const waiting = await device.waiting(campaign);
  const { entries, limit } = await ledger.statement();
  if (!waiting && entries.some(({ task }) => task.startsWith(campaign))) {
    $("status").textContent = say("answered");
    return;
  }
  const { round, hash, pinned } = await openRound(campaign, limit);
  await showPin(hash, round.number, pinned);
  const { sent, known } = waiting ? { sent: waiting.sent, known: waiting.id } : await identity(round);
  const channels = await channelsFor(round, known);
  showPromise(channels, round);
  if (waiting) {
    await showReport(device, round, channels, null, keptOf(waiting, waiting.number));
    $("status").textContent = say("waiting");
    return;
  }
  refuseAboveLimit(entries, ratioOf(channels), limit);
  $("status").hidden = true;
  ask(device, round, channels, sent, namesOf(about.plan));
}

/** What a group, or the sides of a table, are called. @param {any} plan */
const namesOf = ({ question, name, names }) => (question === "groups" ? [say("your", { name }), $("legend").textContent] : (names ?? []));

/** What is shown and sent. @param {{ sent: Uint8Array, report: Uint8Array }} made @param {number} round */
const keptOf = ({ sent, report }, round) => ({ round, sent: hex(sent), report: hex(report) });

/** @param {Error} error */
function refuse(error) {
  const status = $("status");
  status.hidden = false;
  status.classList.add("refused");
  $("form").hidden = $("could").hidden = true;
  status.textContent = say(error instanceof PrivacyError ? "refuses" : "not-now", { why: error.message });
}

// -- the budget -------------------------------------------------------------------------------------------

/** The ledger of this browser: it keeps its own limit, which only its owner changes. */
async function ownLedger() {
  if (isKiosk) return new Ledger({ storage, limit: DEFAULT_LIMIT });
  const chosen = localStorage.getItem("discreet limit"); // where pages before 0.2 kept it
  const fresh = new Ledger({ storage });
  const isNew = !/"version"/.test(storage.get(fresh.key) ?? ""); // or from before ledgers wrote their limit
  const ledger = isNew ? new Ledger({ storage, limit: Number(chosen ?? DEFAULT_LIMIT) }) : fresh;
  if (chosen !== null) await ledger.changeLimit(Number(chosen));
  localStorage.removeItem("discreet limit");
  return ledger;
}

function refuseAboveLimit(entries, ratio, limit) {
  const total = entries.reduce((sum, entry) => sum.times(Ratio.parse(entry.ratio)), ratio);
  if (!total.within(Ratio.decimal(limit))) {
    throw new PrivacyError(say("above-limit", { total: number(total.epsilon), limit: number(limit) }));
  }
}

async function showBudget(ledger) {
  if (isKiosk) return;
  const { entries, epsilon, limit } = await ledger.statement();
  $("budget").hidden = false;
  $("budget-shown").textContent = say("spent", { spent: number(epsilon), limit: number(limit) });
  $("limit").value = limit;
  $("limit").onchange = async () => {
    const wanted = Number($("limit").value);
    if (!(wanted >= 0 && wanted <= 100)) return;
    await ledger.changeLimit(wanted);
    location.reload();
  };
  const cost = (entry) => el("li", {}, say("spent-one", { name: entry.name, id: entry.id.slice(0, 8), epsilon: number(entry.epsilon) }));
  $("spent").replaceChildren(...entries.map(cost));
}

// -- the question -----------------------------------------------------------------------------------------

function ask(device, round, channels, sent, names) {
  const group = showGroup(round, sent, names[0]);
  const form = round.form ? askBlock(round.form, channels[0].columns) : askValues(channels, names);
  $("form").hidden = false;
  const values = () => (group() === null ? null : form.values());
  const changed = () => {
    form.changed?.();
    $("draw").disabled = values() === null;
    showCould(channels, values());
  };
  for (const event of ["input", "change"]) for (const id of ["field", "group"]) $(id).addEventListener(event, changed);
  changed();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = values();
    if (given === null) return;
    $("draw").disabled = true;
    try {
      const made = await device.answerRound(round, form.held(given), { id: sent, ticket: sent, group: group() }); // charged and kept before it is shown
      $("form").hidden = $("could").hidden = true;
      // If another tab was first, its report comes back: it was not drawn with this answer.
      await showReport(device, round, channels, made.isNew ? given : null, keptOf(made, round.number));
      await showBudget(device.ledger);
    } catch (error) {
      refuse(/** @type {Error} */ (error));
    }
  });
}

/**
 * Ask for the public group, unless the invitation says it; the page names it as public either way.
 * @param {import("./client/round.js").Round} round @param {Uint8Array} sent @param {string} name what the groups are called
 * @returns {() => any} its label: undefined where it is not stated here, null while it is not yet chosen
 */
function showGroup(round, sent, name) {
  if (!round.by) return () => undefined;
  const invited = round.invitedGroup(round.admission === "invited" ? sent : undefined);
  $("group").hidden = false;
  $("group-legend").textContent = name;
  if (invited !== null) {
    $("group-words").textContent = say("invited-as", { group: round.by.labels[invited] });
    return () => undefined;
  }
  const field = fieldFor({ labels: round.by.labels, interval: null }, "group-value", name);
  $("group").append(...field.nodes);
  return () => field.value();
}

/** The fields of a questionnaire: everything in this person's block, on one page. */
function askBlock(form, columns) {
  const fields = blockFields(form, columns);
  $("legend").hidden = true;
  const words = partWords(form, columns);
  $("field").append(...(words ? [el("p", { class: "quiet", id: "part" }, words)] : []), ...fields.nodes);
  const values = () => {
    const given = fields.value();
    return given === null ? null : [given];
  };
  return { values, held: ([given]) => given, changed: fields.changed };
}

/** The fields of other questions: one for each channel. */
function askValues(channels, names) {
  const fields = channels.map((channel, i) => fieldFor(channel, i ? `value-${i + 1}` : "value", channel.name, names));
  if (channels.length === 1) $("legend").textContent = channels[0].name;
  for (const i of inOrder(channels)) {
    if (channels.length > 1) $("field").append(el("p", { class: "part" }, channels[i].name));
    $("field").append(...fields[i].nodes);
  }
  const values = () => {
    const given = fields.map((field) => field.value());
    return given.includes(null) ? null : given;
  };
  return { values, held: (given) => rowOf(channels, given) };
}

/** What the encoders read: the row of the attributes that were asked, or the one value. */
function rowOf(channels, given) {
  if (channels[0].attribute === null) return given[0];
  const row = [];
  channels.forEach(({ attribute }, i) => (row[attribute] = given[i]));
  return row;
}

async function showReport(device, round, channels, values, kept) {
  await showWill(channels, values, kept, round);
  $("send").onclick = () => send(device, round, kept);
  $("will").focus({ preventScroll: true });
  $("will").scrollIntoView({ block: "start", behavior: "smooth" });
}

// -- sending ----------------------------------------------------------------------------------------------

const SAID = { accepted: "accepted", replayed: "replayed", closed: "too-late" };

async function send(device, round, kept) {
  $("send").disabled = true;
  $("send-error").textContent = "";
  const body = writeUpload(unhex(campaign), kept.round, round.width, [{ id: unhex(kept.sent), report: unhex(kept.report) }]);
  try {
    const response = await fetch("/api/reports", { method: "POST", credentials: "omit", headers: { "content-type": MEDIA_TYPE }, body });
    const found = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(found.error ?? `status ${response.status}`);
    const status = found.statuses[0]?.status ?? "accepted";
    await device.acknowledge(campaign);
    forgetIdentity(campaign, kept.round);
    $("status").hidden = true;
    $("send-row").hidden = $("will-plain").hidden = true;
    $("will-title").textContent = say(status === "accepted" || status === "replayed" ? "was-sent" : "not-counted");
    $("sent").textContent = say(SAID[status] ?? "refused", { status });
    $("left-behind").textContent = `${say("left", { n: body.length })} ${say(isKiosk ? "kept-nothing" : "kept-cost")}`;
    endKiosk();
  } catch (error) {
    $("send").disabled = false;
    $("send-error").textContent = say(isKiosk ? "not-arrived-kiosk" : "not-arrived", { why: /** @type {Error} */ (error).message });
  }
}

start().catch(refuse);
