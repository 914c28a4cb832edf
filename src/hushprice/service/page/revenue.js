// Personal prices against the fixed price of the holdout, day by day.

import { chart, h, s, setText } from "./dom.js";
import { day, instant, money } from "./format.js";
import { linear, path, ticks } from "./scale.js";

const [LEFT, RIGHT, TOP, BOTTOM, DOWN] = [58, 14, 14, 30, 210];
const DAY = 86400000; // ms

export function createRevenue() {
  const difference = h("p", { class: "verdict" });
  const plot = h("div", { class: "plot", role: "img" });
  const keys = h("p", { class: "key" },
    h("span", null, sample("personal"), " personal prices"), h("span", null, sample("holdout"), " holdout at the reference price"),
    h("span", null, sample("release-line"), " score released"), h("span", null, "bars: ± 1 standard error"));
  const draw = chart(plot, (width, data) => plot.replaceChildren(drawing(width, data)));

  const update = ({ product, report, figures }) => {
    const { revenue } = figures;
    const show = (value) => money(value, product.currency, product.decimals);
    setText(difference, verdict(revenue, show));
    const days = figures.daily.map((each) => ofDay(each, product.ceiling));
    const releases = (report.releases ?? []).filter((each) => each.kind === "score").map((each) => instant(each.at)?.getTime());
    draw({ days, releases, currency: product.currency });
    plot.setAttribute("aria-label", `Revenue a quote by day. ${difference.textContent}`);
  };
  return { nodes: [difference, plot, keys], update };
}

function verdict(revenue, show) {
  const { personal_per_quote: personal, holdout_per_quote: holdout, difference, standard_error: error } = revenue;
  if (!Number.isFinite(holdout) || !Number.isFinite(difference)) return "No holdout quote has passed its deadline yet, so there is nothing to compare with.";
  const sure = Number.isFinite(error) && error > 0 ? ` ± ${show(error)}` : "";
  const clear = Math.abs(difference) > 2 * error ? "" : " Less than two standard errors: this may be chance.";
  return `${show(personal)} a quote with personal prices, ${show(holdout)} in the holdout: ${difference >= 0 ? "+" : ""}${show(difference)}${sure}.${clear}`;
}

const sample = (kind) => s("svg", { width: 18, height: 14, "aria-hidden": "true" }, s("line", { class: kind, x1: 0, x2: 18, y1: 7, y2: 7 }));

// Of a revenue between 0 and the ceiling with mean m the variance is m (ceiling - m) at most: an upper limit where the
// service gives no standard error for the day.
function ofDay(each, ceiling) {
  const side = (quotes, sum, given) => {
    if (!quotes) return null;
    const mean = sum / quotes;
    return { mean: mean * ceiling, error: given ?? ceiling * Math.sqrt(Math.max(0, mean * (1 - mean)) / quotes) };
  };
  return {
    at: Date.parse(`${each.day}T00:00:00Z`) + DAY / 2,
    personal: side(each.personal_quotes, each.personal_revenue, each.personal_standard_error),
    holdout: side(each.holdout_quotes, each.holdout_revenue, each.holdout_standard_error),
  };
}

function drawing(width, { days, releases, currency }) {
  const sides = days.flatMap((each) => [each.personal, each.holdout]).filter(Boolean);
  if (!sides.length) return s("svg", { width, height: 40 }, s("text", { x: 0, y: 24 }, "No quote has passed its deadline yet."));
  const lows = sides.map((each) => Math.max(0, each.mean - each.error));
  const highs = sides.map((each) => each.mean + each.error);
  const [low, high] = [Math.min(...lows) * 0.97, Math.max(...highs) * 1.02];
  const [from, to] = [days[0].at - DAY / 2, days.at(-1).at + DAY / 2];
  const x = linear(from, to, LEFT, width - RIGHT);
  const y = linear(low, high, TOP + DOWN, TOP);
  const every = Math.ceil(days.length / Math.max(1, (width - LEFT) / 60));
  return s("svg", { width, height: TOP + DOWN + BOTTOM, "aria-hidden": "true" },
    ticks(low, high, 4).map((value) => s("g", { class: "tick" }, s("line", { class: "grid-line", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }), s("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, money(value, currency, 2)))),
    releases.filter((at) => at >= from && at <= to).map((at) => s("line", { class: "release-line", x1: x(at), x2: x(at), y1: TOP, y2: TOP + DOWN })),
    days.filter((_, index) => index % every === 0).map((each) => s("text", { class: "tick", x: x(each.at), y: TOP + DOWN + 20, "text-anchor": "middle" }, day(new Date(each.at)))),
    series(days, "holdout", x, y, 3), series(days, "personal", x, y, -3));
}

function series(days, name, x, y, shift) {
  const points = days.filter((each) => each[name]).map((each) => ({ px: x(each.at) + shift, ...each[name] }));
  return s("g", null,
    s("path", { class: name, d: path(points.map((each) => [each.px, y(each.mean)])) }),
    points.map((each) => s("line", { class: `${name} error-bar`, x1: each.px, x2: each.px, y1: y(each.mean - each.error), y2: y(each.mean + each.error) })),
    points.map((each) => s("circle", { class: `${name}-dot`, cx: each.px, cy: y(each.mean), r: 3.5 })));
}
