// The page where people answer: verify, ask, randomise, show, send. `send` sees the report, never the answer.
import { BrowserStorage, Device, Ledger, MEDIA_TYPE, PrivacyError, Ratio, writeUpload } from "./client/index.js";
import { hex, unhex } from "./client/entropy.js";
import { $, el, number } from "./dom.js";
import { showCould, showPromise, showWill } from "./explain.js";
import { fieldFor } from "./fields.js";
import { channelsFor, identity, inOrder, openRound, ratioOf } from "./round.js";

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
  const channels = await channelsFor(round, known);
  showPromise(channels, round);
  if (waiting) {
    await showReport(round, channels, null, waiting);
    $("status").textContent = "Your randomised answer has not reached the collector yet. Send it again.";
    return;
  }
  refuseAboveLimit(entries, ratioOf(channels));
  $("status").hidden = true;
  ask(round, channels, sent, known);
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

function refuseAboveLimit(entries, ratio) {
  const total = entries.reduce((sum, entry) => sum.times(Ratio.parse(entry.ratio)), ratio);
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

function ask(round, channels, sent, known) {
  const fields = channels.map((channel, i) => fieldFor(channel, i ? `value-${i + 1}` : "value", channel.name));
  if (channels.length === 1) $("legend").textContent = channels[0].name;
  for (const i of inOrder(channels)) {
    if (channels.length > 1) $("field").append(el("p", { class: "part" }, channels[i].name));
    $("field").append(...fields[i].nodes);
  }
  $("form").hidden = false;
  const values = () => {
    const given = fields.map((field) => field.value());
    return given.includes(null) ? null : given;
  };
  const changed = () => {
    $("draw").disabled = values() === null;
    showCould(channels, values());
  };
  for (const event of ["input", "change"]) $("field").addEventListener(event, changed);
  changed();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = values();
    if (given === null) return;
    $("draw").disabled = true;
    try {
      const task = `${round.campaign} ${round.number}`;
      const made = await new Device(ledger()).answer(task, channels, rowOf(channels, given), { id: known }); // charged before it is shown
      const kept = { round: round.number, sent: hex(sent), report: hex(made.report) };
      localStorage.setItem(outboxKey, JSON.stringify(kept));
      $("form").hidden = $("could").hidden = true;
      await showReport(round, channels, given, kept);
      showBudget();
    } catch (error) {
      refuse(/** @type {Error} */ (error));
    }
  });
}

/** What the encoders read: the row of the attributes that were asked, or the one value. */
function rowOf(channels, given) {
  if (channels[0].attribute === null) return given[0];
  const row = [];
  channels.forEach(({ attribute }, i) => (row[attribute] = given[i]));
  return row;
}

async function showReport(round, channels, values, kept) {
  await showWill(channels, values, kept);
  $("send").onclick = () => send(round, kept);
  $("will").focus({ preventScroll: true });
  $("will").scrollIntoView({ block: "start", behavior: "smooth" });
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
