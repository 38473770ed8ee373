// Server-sent events, read by fetch: an EventSource could not send the token in a header.
import { call } from "./session.js";

const AGAIN_SECONDS = 3;
const LOST_SECONDS = 60;
let isPaused = false;

/** Hear nothing for a while: a page that deletes its campaign need not be told that it is gone. @param {boolean} wanted */
export const pause = (wanted) => (isPaused = wanted);

/**
 * Call `changed` whenever the server says so, and after every interruption; for as long as the page is open.
 * @param {string} source the piece of the page that is followed @param {() => Promise<void>} changed
 */
export async function follow(source, changed) {
  for (;;) {
    const stop = new AbortController();
    try {
      const response = await call(`${source}/events`, { signal: stop.signal });
      if ([403, 404].includes(response.status)) return isPaused ? undefined : changed(); // which says why
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      for await (const text of heard(response.body.pipeThrough(new TextDecoderStream()).getReader(), stop)) {
        if (text.includes("event: changed") && !isPaused) await changed();
      }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1000 * AGAIN_SECONDS));
    }
    stop.abort();
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
    else if (!isPaused) await changed();
  }
}

/** What arrives, until the stream ends or is silent for too long. @param {ReadableStreamDefaultReader<string>} reader @param {AbortController} stop */
async function* heard(reader, stop) {
  for (;;) {
    const timer = setTimeout(() => stop.abort(), 1000 * LOST_SECONDS);
    const { done, value } = await reader.read();
    clearTimeout(timer);
    if (done) return;
    yield value;
  }
}
