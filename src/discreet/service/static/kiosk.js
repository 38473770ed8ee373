// Kiosk mode: one device for many people. With ?kiosk in the address nothing is kept on the device, and the page returns
// to its start by itself; ?kiosk=10 says after how many seconds.
import { BrowserStorage, MemoryStorage } from "./client/index.js";
import { $ } from "./dom.js";
import { say } from "./words.js";

const asked = new URLSearchParams(location.search).get("kiosk");
const SECONDS = Math.min(Math.max(Number(asked) || 20, 1), 600);
const IDLE_SECONDS = 120; // somebody who walks away in the middle must not leave an answer on the screen

export const isKiosk = asked !== null;

/** Where this page keeps what it must: in a kiosk, only until the page is left. */
export const storage = isKiosk ? new MemoryStorage() : new BrowserStorage();

/** Say it on the page, and start again if nobody touches it for a while. */
export function startKiosk() {
  if (!isKiosk) return;
  $("shared").textContent = say("shared");
  $("budget").remove(); // there is no owner whose limit it could be
  let idle = setTimeout(restart, 1000 * IDLE_SECONDS);
  for (const name of ["pointerdown", "keydown", "input"]) {
    addEventListener(name, () => {
      clearTimeout(idle);
      idle = setTimeout(restart, 1000 * IDLE_SECONDS);
    });
  }
}

/** After an answer: make room for the next person. */
export function endKiosk() {
  if (!isKiosk) return;
  $("next").hidden = false;
  $("next-words").textContent = say("returns", { seconds: SECONDS });
  $("next-person").onclick = restart;
  setTimeout(restart, 1000 * SECONDS);
}

/** A ticket is one person's: the next one must not find it in the address. */
function restart() {
  const said = new URLSearchParams(location.hash.slice(1));
  said.delete("ticket");
  history.replaceState(null, "", `${location.pathname}${location.search}${said.size ? `#${said}` : ""}`);
  location.reload();
}
