// Small charts of probabilities: SVG that stretches, with text beside it that does not.
import { el, percent, svg } from "./dom.js";
import { say } from "./words.js";

/** @typedef {{ label: string, p: number, bounds: number[], isDrawn: boolean }} Bar */

const top = (bars) => Math.max(...bars.flatMap(({ p, bounds }) => [p, bounds[1]]));
const name = ({ isDrawn }) => (isDrawn ? "bar drawn" : "bar");

/** Columns side by side. @param {Bar[]} bars @param {string} what */
export function columns(bars, what) {
  const [highest, width] = [top(bars), 100 / bars.length];
  const y = (p) => 100 - (96 * p) / highest;
  const shapes = bars.flatMap((bar, i) => {
    const middle = (i + 0.5) * width;
    return [
      svg("rect", { class: name(bar), x: (i + 0.14) * width, y: y(bar.p), width: 0.72 * width, height: 100 - y(bar.p) }),
      svg("line", { class: "whisker", x1: middle, x2: middle, y1: y(bar.bounds[0]), y2: y(bar.bounds[1]) }),
    ];
  });
  const label = bars.map((bar) => `${bar.label}: ${percent(bar.p)}`).join(", ");
  const picture = svg("svg", { class: "chart columns", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": say("odds-of", { what, odds: label }) }, ...shapes);
  const ends = [bars[0].label, what, bars.at(-1).label].map((text) => el("span", {}, text));
  return el("figure", { class: "plot odds", dir: "ltr" }, picture, el("div", { class: "ticks", "aria-hidden": "true" }, ...ends));
}

/** Rows with labels. @param {Bar[]} bars */
export function rows(bars) {
  const highest = top(bars);
  const x = (p) => (100 * p) / highest;
  return el("div", { class: "bars" }, ...bars.map((bar) => {
    const picture = svg("svg", { class: "chart row", viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: name(bar), x: 0, y: 3, width: x(bar.p), height: 14 }),
      svg("line", { class: "whisker", x1: x(bar.bounds[0]), x2: x(bar.bounds[1]), y1: 10, y2: 10 }));
    return el("div", { class: bar.isDrawn ? "bar-row is-drawn" : "bar-row" },
      el("span", { class: "label", dir: "auto" }, bar.label), el("span", { class: "cell" }, picture), el("span", { class: "share" }, el("strong", {}, percent(bar.p))));
  }));
}
