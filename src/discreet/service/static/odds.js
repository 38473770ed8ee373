// P(report | answer) of a verified mechanism: what could be sent, how likely, and with which other answers.
import { TOTAL } from "./client/exact.js";
import { countUpTo } from "./client/mechanism.js";

const MOST = 4096;
const OUTSIDE = 2;

/** The probability of every report, or null where there are too many to list. @returns {number[] | null} */
export function law(mechanism, x) {
  if (!(mechanism.kind in LAWS) || mechanism.alphabet > MOST) return null;
  return LAWS[mechanism.kind](mechanism, x);
}

const LAWS = {
  table(m, x) {
    const left = Math.min(countUpTo(m.knots, x) - 1, m.knots.length - 2);
    const part = (x - m.knots[left]) / (m.knots[left + 1] - m.knots[left]);
    return mix(weights(m.thresholds[left]), weights(m.thresholds[left + 1]), part);
  },
  window(m, x) {
    if (!m.numeric) return windowAt(m, x);
    const exact = ((x + 1) * (m.size - 1)) / 2;
    const left = Math.min(Math.floor(exact), m.size - 2);
    return mix(windowAt(m, left), windowAt(m, left + 1), exact - left);
  },
  mixture(m, x) {
    const first = m.coin / 65536;
    return m.parts.flatMap((part, i) => law(part, x).map((p) => p * (i ? 1 - first : first)));
  },
  agreement(m, x) {
    const [far, near] = levels(m);
    return Array.from({ length: m.alphabet }, (_, report) => (agrees(m, x, report) ? near : far));
  },
  ranged(m, x) {
    const isOut = x === OUTSIDE;
    const says = (isOut ? m.outside : m.inside) / TOTAL;
    const inner = isOut ? weights(m.thresholds) : law(m.inner, x);
    return [...inner.map((p) => p * says), ...(m.isSilent ? [1 - says] : inner.map((p) => p * (1 - says)))];
  },
};

/** The probabilities of a report of an agreement: with too few true symbols, and with enough. */
const levels = (m) => [(TOTAL - m.hit) / TOTAL / m.outside, m.hit / TOTAL / m.inside];

/** Whether a report of an agreement has enough of the true symbols. */
function agrees(m, x, report) {
  let [same, scale] = [0, m.size];
  for (const size of m.sizes) {
    scale /= size;
    same += Number(Math.floor(x / scale) % size === Math.floor(report / scale) % size);
  }
  return same >= m.threshold;
}

const weights = (thresholds) => thresholds.map((t, j) => (t - (j ? thresholds[j - 1] : 0)) / TOTAL);
const mix = (a, b, part) => a.map((p, j) => p * (1 - part) + b[j] * part);

function windowAt(m, position) {
  return Array.from({ length: m.alphabet }, (_, cell) => {
    const place = cell - position;
    const isIn = place >= 0 && place < m.width;
    return (isIn ? (m.isFlat ? m.profile[0] : m.profile[place]) : m.low) / TOTAL;
  });
}

/** Inputs that contain the extremes of every report's probability, if they are few enough to try. */
export function inputs(m) {
  const even = (count) => Array.from({ length: count }, (_, i) => (2 * i) / (count - 1) - 1);
  if (m.kind === "table") return m.knots;
  if (m.kind === "mixture") return [...new Set(m.parts.flatMap(inputs))];
  if (m.kind === "ranged") return [...inputs(m.inner), OUTSIDE];
  return m.numeric ? even(Math.min(m.size, 257)) : Array.from({ length: Math.min(m.size, 512) }, (_, i) => i);
}

/** The smallest and the largest probability of every report over all answers. @returns {[number, number][] | null} */
export function extremes(mechanism) {
  if (mechanism.kind === "agreement" && mechanism.alphabet <= MOST) return Array.from({ length: mechanism.alphabet }, () => levels(mechanism));
  let found = null;
  for (const x of inputs(mechanism)) {
    const row = law(mechanism, x);
    if (!row) return null;
    found = found ? found.map(([a, b], j) => [Math.min(a, row[j]), Math.max(b, row[j])]) : row.map((p) => [p, p]);
  }
  return found;
}

/** Probabilities that a set contains the true category, or one of those held (p), and another one (q), or null. */
export function membership(m) {
  if (m.kind === "padded") {
    const held = m.hits.reduce((sum, hit, i) => sum + hit * (i + m.least), 0) / TOTAL;
    return { p: held / m.most, q: (m.k - held) / m.options, size: m.k };
  }
  if (m.kind === "subset") return { p: m.hit / TOTAL, q: (m.k - m.hit / TOTAL) / (m.size - 1), size: m.k };
  if (m.kind === "unary") return { p: m.hit / TOTAL, q: m.ones / 2 ** m.digits, size: null };
  return null;
}

/** How sure a report can make anyone of one of two equally likely answers: ratio / (1 + ratio), rounded up. */
export const sure = ({ n, d }) => Number((n * 1000000n) / (n + d) + 1n) / 1e6;
