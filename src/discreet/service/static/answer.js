// The page where people answer: verify, ask, randomise, show, send. `send` sees the report, never the answer.
import { Device, PrivacyError } from "./client/index.js";
import { hex } from "./client/entropy.js";
import { campaign, hasAgreed, showAsked, showPin } from "./asked.js";
import { ownLedger, showBudget, withinLimit } from "./budget.js";
import { $, el } from "./dom.js";
import { showCould, showPromise, showWill } from "./explain.js";
import { fieldFor } from "./fields.js";
import { startFrame } from "./framed.js";
import { startKiosk } from "./kiosk.js";
import { blockFields, partWords } from "./questions.js";
import { Refusal, why } from "./reasons.js";
import { asking, channelsFor, identity, inOrder, ratioOf, verified } from "./round.js";
import { send } from "./sending.js";
import { chooseLanguage, say } from "./words.js";

async function start() {
  chooseLanguage();
  document.title = $("title").textContent; // until the collector says what is asked
  startKiosk();
  const ledger = await ownLedger();
  const device = new Device(ledger);
  const waiting = await device.waiting(campaign);
  const { about, text, id } = await asking(campaign, waiting === null);
  startFrame(about.origins);
  if (!showAsked(about)) return;
  await showBudget(ledger);
  const { entries } = await ledger.statement();
  if (!waiting && entries.some(({ task }) => task.startsWith(campaign))) {
    $("status").textContent = say("answered");
    return;
  }
  const { round, hash, pinned } = await verified(campaign, text);
  await showPin(hash, round.number, pinned);
  const { sent, known } = waiting ? { sent: waiting.sent, known: waiting.id } : await identity(round, id);
  const channels = await channelsFor(round, known, about.plan.question === "means" ? about.plan.names : undefined);
  showPromise(channels, round);
  if (waiting) {
    await showReport(device, round, channels, null, keptOf(waiting, waiting.number, false));
    $("status").textContent = say("waiting");
    return;
  }
  await withinLimit(ledger, ratioOf(channels));
  $("status").hidden = true;
  ask(device, round, channels, sent, namesOf(about.plan));
}

/** What a group, or the sides of a table, are called. @param {any} plan */
const namesOf = ({ question, name, names }) => (question === "groups" ? [say("your", { name }), $("legend").textContent] : (names ?? []));

/** What is shown and sent. @param {{ sent: Uint8Array, report: Uint8Array }} made @param {number} round @param {boolean} isFirst */
const keptOf = ({ sent, report }, round, isFirst) => ({ round, sent: hex(sent), report: hex(report), isFirst });

/** @param {Error} error */
function refuse(error) {
  const status = $("status");
  status.hidden = false;
  status.classList.add("refused");
  $("form").hidden = $("could").hidden = true;
  status.textContent = say(error instanceof PrivacyError || error instanceof Refusal ? "refuses" : "not-now", { why: why(error) });
}

// -- the question -----------------------------------------------------------------------------------------

function ask(device, round, channels, sent, names) {
  const group = showGroup(round, sent, names[0]);
  const form = round.form ? askBlock(round.form, channels[0].columns) : askValues(channels, names);
  $("form").hidden = false;
  const values = () => (group() === null ? null : form.values());
  const changed = () => {
    form.changed?.();
    $("draw").disabled = values() === null || !hasAgreed();
    showCould(channels, values());
  };
  for (const event of ["input", "change"]) for (const id of ["field", "group", "agree"]) $(id).addEventListener(event, changed);
  changed();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = values();
    if (given === null || !hasAgreed()) return;
    $("draw").disabled = true;
    try {
      const made = await device.answerRound(round, form.held(given), { id: sent, ticket: sent, group: group() }); // charged and kept before it is shown
      $("form").hidden = $("could").hidden = true;
      // If another tab was first, its report comes back: it was not drawn with this answer.
      await showReport(device, round, channels, made.isNew ? given : null, keptOf(made, round.number, made.isNew));
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

start().catch(refuse);
