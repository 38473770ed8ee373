// Requests that wait: when many people answer at once, or the network is down for a moment, the page tries again by
// itself and says so.
import { PageError } from "./reasons.js";
import { say as worded } from "./words.js";

const BUSY = [429, 502, 503, 504];
const MOST_ATTEMPTS = 12; // about five minutes
const LONGEST = 30;

/** @param {number} milliseconds */
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Fetch; while the collector is busy or cannot be reached, wait longer and longer, each device a little differently.
 * @param {string} path @param {RequestInit | undefined} options
 * @param {(sentence: string) => void} say told why the page waits, and how long; "" when it goes on
 */
export async function patiently(path, options, say) {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(path, { credentials: "omit", ...options }).catch(() => null);
    if (attempt === MOST_ATTEMPTS && !response) throw new PageError(worded("unreachable"));
    if (attempt === MOST_ATTEMPTS || (response && !BUSY.includes(response.status))) {
      if (attempt > 1) say("");
      return /** @type {Response} */ (response);
    }
    const asked = Number(response?.headers.get("retry-after")) || 1;
    const seconds = Math.ceil(Math.min(LONGEST, Math.max(asked, 2 ** (attempt - 1))) * (0.5 + Math.random()));
    for (let left = seconds; left > 0; left--) {
      say(worded(response ? "busy" : "offline", { seconds: left }));
      await sleep(1000);
    }
  }
}
