// Sending: the report, never the answer. It is sent again until the collector has it; it counts once.
import { MEDIA_TYPE, writeUpload } from "./client/index.js";
import { unhex } from "./client/entropy.js";
import { campaign, root } from "./asked.js";
import { $ } from "./dom.js";
import { tellSent } from "./framed.js";
import { endKiosk, isKiosk } from "./kiosk.js";
import { patiently } from "./patience.js";
import { CollectorError, why } from "./reasons.js";
import { forgetIdentity } from "./round.js";
import { say } from "./words.js";

/** @typedef {{ round: number, sent: string, report: string, isFirst: boolean }} Kept isFirst: it was never sent before */

const SAID = { accepted: "accepted", replayed: "replayed", closed: "too-late" };

/** @param {import("./client/device.js").Device} device @param {import("./client/round.js").Round} round @param {Kept} kept */
export async function send(device, round, kept) {
  $("send").disabled = true;
  $("send-error").textContent = "";
  const body = writeUpload(unhex(campaign), kept.round, round.width, [{ id: unhex(kept.sent), report: unhex(kept.report) }]);
  const wait = (/** @type {string} */ sentence) => {
    kept.isFirst = false; // a request without a response may have arrived
    $("send-error").textContent = sentence && `${sentence} ${isKiosk ? "" : say("kept-here")}`;
  };
  try {
    const response = await patiently(`${root}api/reports`, { method: "POST", headers: { "content-type": MEDIA_TYPE }, body }, wait);
    const found = await response.json().catch(() => ({}));
    if (!response.ok) throw new CollectorError(found.error ?? "no reason", response.status);
    const status = found.statuses[0]?.status ?? "accepted";
    await device.acknowledge(campaign);
    forgetIdentity(campaign, kept.round);
    show(status, kept.isFirst, round.admission, body.length);
    tellSent();
    endKiosk();
  } catch (error) {
    $("send").disabled = false;
    $("send-error").textContent = say(isKiosk ? "not-arrived-kiosk" : "not-arrived", { why: why(error) });
  }
}

function show(status, isFirst, admission, bytes) {
  const elsewhere = status === "replayed" && isFirst; // sent once, and already there: it came from somewhere else
  const isCounted = status === "accepted" || (status === "replayed" && !elsewhere);
  $("status").hidden = true;
  $("send-row").hidden = $("will-plain").hidden = true;
  $("will-title").textContent = say(isCounted ? "was-sent" : "not-counted");
  $("sent").textContent = elsewhere ? say(admission === "invited" ? "used-elsewhere" : "counted-elsewhere") : SAID[status] ? say(SAID[status]) : say("refused", { status: say(`status-${status}`) });
  $("left-behind").textContent = `${say("left", { n: bytes })} ${say(isKiosk ? "kept-nothing" : "kept-cost")}`;
}
