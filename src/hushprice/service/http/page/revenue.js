// Personal prices against the fixed price of the holdout, day by day.

import { keyEntry, level, tickBelow, upright } from "./axes.js";
import { chart, h, s, setText } from "./dom.js";
import { day, instant, money } from "./format.js";
import { linear, path, ticks } from "./scale.js";

const [LEFT, RIGHT, TOP, BOTTOM, DOWN] = [58, 14, 14, 30, 210];
const DAY = 86400000; // ms

export function createRevenue() {
  const difference = h("p", { class: "verdict" });
  const plot = h("div", { class: "plot", role: "img" });
  const keys = h(
    "p",
    { class: "key" },
    keyEntry("personal", " personal prices"),
    keyEntry("holdout", " holdout at the reference price"),
    keyEntry("release-line", " prices moved"),
    h("span", null, "bars: ± 1 standard error"),
  );
  const draw = chart(plot, (width, data) => plot.replaceChildren(drawing(width, data)));

  const update = ({ product, report, figures }) => {
    const { revenue } = figures;
    const show = (value) => money(value, product.currency, product.decimals);
    setText(difference, verdict(revenue, show));
    const days = figures.daily.map((each) => ofDay(each, product.ceiling));
    const releases = (report.releases ?? []).filter((each) => each.kind !== "curvature").map(
      (each) => instant(each.at)?.getTime(),
    );
    draw({ days, releases, currency: product.currency });
    plot.setAttribute("aria-label", `Revenue a quote by day. ${difference.textContent}`);
  };
  return { nodes: [difference, plot, keys], update };
}

function verdict(revenue, show) {
  const { personal_per_quote: personal, holdout_per_quote: holdout, difference, standard_error: error } = revenue;
  if (!Number.isFinite(difference)) return "Nothing to compare yet: it takes personal prices and a holdout.";
  const sure = Number.isFinite(error) ? ` ± ${show(error)}` : "";
  const chance = sure && Math.abs(difference) > 2 * error ? "" : " Less than two standard errors: this may be chance.";
  const gain = `${difference >= 0 ? "+" : ""}${show(difference)}${sure}`;
  return `${show(personal)} a quote with personal prices, ${show(holdout)} in the holdout: ${gain}.${chance}`;
}

// One quote alone has no standard error, and no bar.
function ofDay(each, ceiling) {
  const side = (quotes, sum, error) => quotes ? { mean: (sum / quotes) * ceiling, error: error ?? 0 } : null;
  return {
    at: Date.parse(`${each.day}T00:00:00Z`) + DAY / 2,
    personal: side(each.personal_quotes, each.personal_revenue, each.personal_standard_error),
    holdout: side(each.holdout_quotes, each.holdout_revenue, each.holdout_standard_error),
  };
}

function drawing(width, { days, releases, currency }) {
  const sides = days.flatMap((each) => [each.personal, each.holdout]).filter(Boolean);
  if (!sides.length) return s("svg", { width, height: 40 }, s("text", { x: 0, y: 24 }, "No quote yet."));
  const low = 0.97 * Math.min(...sides.map((each) => Math.max(0, each.mean - each.error)));
  const high = 1.02 * Math.max(...sides.map((each) => each.mean + each.error));
  const [from, to] = [days[0].at - DAY / 2, days.at(-1).at + DAY / 2];
  const [right, base] = [width - RIGHT, TOP + DOWN];
  const [x, y] = [linear(from, to, LEFT, right), linear(low, high, base, TOP)];
  const every = Math.ceil(days.length / Math.max(1, (width - LEFT) / 60));
  const shown = days.filter((_, index) => index % every === 0);
  return s(
    "svg",
    { width, height: base + BOTTOM, "aria-hidden": "true" },
    ticks(low, high, 4).map((value) => level(y(value), LEFT, right, money(value, currency, 2))),
    releases.filter((at) => at >= from && at <= to).map((at) => upright(x(at), TOP, base, "release-line")),
    shown.map((each) => tickBelow(x(each.at), base, day(new Date(each.at)))),
    series(days, "holdout", x, y, 3),
    series(days, "personal", x, y, -3),
    days.length <= 3 && days.map((each) => valuesOf(each, x(each.at), y, currency)),
  );
}

// Few days leave room to write the values beside their dots.
function valuesOf({ personal, holdout }, x, y, currency) {
  const text = (side, at, anchor) =>
    side && s("text", { x: at, y: y(side.mean) + 4, "text-anchor": anchor }, money(side.mean, currency, 2));
  return [text(personal, x - 14, "end"), text(holdout, x + 14, "start")];
}

function series(days, name, x, y, shift) {
  const points = days.filter((each) => each[name]).map((each) => ({ at: x(each.at) + shift, ...each[name] }));
  const bar = (each) => upright(each.at, y(each.mean + each.error), y(each.mean - each.error), `${name} error-bar`);
  return s(
    "g",
    null,
    s("path", { class: name, d: path(points.map((each) => [each.at, y(each.mean)])) }),
    points.map(bar),
    points.map((each) => s("circle", { class: `${name}-dot`, cx: each.at, cy: y(each.mean), r: 3.5 })),
  );
}
