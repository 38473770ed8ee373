// This client as a process that Python's `discreet.checks.ProcessDevice` talks to, in lines of JSON:
//
//   {"n", "do": "start", "limit"}                        a new person with an empty ledger
//   {"n", "do": "verify", "text"}                        -> accepted, certificates, error, seconds
//   {"n", "do": "answer", "text", "value", "id", "key"}  -> report, replaced, error; `value` {"odd": name} is no JSON
//   {"n", "do": "charged"}                               -> ratios
import { createInterface } from "node:readline";
import { Device, Entropy, Ledger, MemoryStorage, Round } from "../src/index.js";
import { hex, unhex } from "../src/entropy.js";

/** Values that JSON cannot write. */
const ODD = {
  nan: () => NaN,
  infinity: () => Infinity,
  "minus infinity": () => -Infinity,
  missing: () => undefined,
  large: () => 10n ** 400n,
  throws: () => new Proxy([], { get: () => { throw new Error("a value that fights back"); } }),
};

let storage = new MemoryStorage();
let limit = 1000;
/** The text that was verified last, and its round: an answer usually follows. */
let last = { text: "", round: /** @type {Round | null} */ (null) };

/** @param {string} text */
async function verified(text) {
  if (last.round === null || last.text !== text) last = { text, round: await Round.read(text) };
  return /** @type {Round} */ (last.round);
}

const DO = {
  async start(asked) {
    storage = new MemoryStorage();
    limit = asked.limit;
    return {};
  },
  async verify({ text }) {
    last = { text, round: null };
    const { channels } = await verified(text);
    return { accepted: true, certificates: channels.map(({ mechanism }) => `${mechanism.certificate.ratio}`) };
  },
  async answer({ text, value, id, key }) {
    const round = await verified(text);
    const device = new Device(new Ledger({ storage, limit }));
    const held = value !== null && typeof value === "object" && !Array.isArray(value) && "odd" in value ? ODD[value.odd]() : value;
    const options = { id: unhex(id), ticket: unhex(id), entropy: new Entropy(unhex(key)), isSimulation: true };
    const { report, isReplaced } = await device.answerRound(round, held, options);
    return { report: hex(report).padEnd(2 * round.width, "0"), replaced: isReplaced };
  },
  async charged() {
    const { entries } = await new Ledger({ storage, limit }).statement();
    return { ratios: entries.map(({ ratio }) => ratio) };
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { n, do: name, ...asked } = JSON.parse(line);
  const start = process.cpuUsage();
  let found;
  try {
    found = await DO[name](asked);
  } catch (error) {
    found = { error: /** @type {Error} */ (error)?.name ?? "none" };
  }
  const { user, system } = process.cpuUsage(start);
  process.stdout.write(`${JSON.stringify({ n, seconds: (user + system) / 1e6, kilobytes: process.resourceUsage().maxRSS, ...found })}\n`);
});
