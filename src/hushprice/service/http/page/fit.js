// Does the model fit, and do prices pay? From releases alone.

import { byId, h, setText, show } from "./dom.js";
import { count, digits, money, percent } from "./format.js";
import { heading, row, tag } from "./labels.js";

const FITS = [
  ["conversion", "Bought by a visitor"],
  ["recent_conversion", "The same, in the last batches"],
  ["at_dearer_price", "At the dearer of two prices tried out"],
  ["at_cheaper_price", "At the cheaper one"],
  ["by_believed_demand", "More by who is likelier to buy, a standard deviation"],
];
const NOT_YET = "no release has told yet";
const SHOWN = { paying: "prices moved" }; // which is all that the word means: what they earn is told below

export function createFit() {
  const status = h("span", { class: "pill", id: "fit-status" });
  const words = h("p", { id: "fit-words" });
  const label = h("span", { class: "tag-slot" }, tag("noised"));
  const rows = Object.fromEntries(FITS.map(([id, title]) => [id, row(title, "noised")]));
  const gain = row("Earned by a visitor, against the holdout", "noised");
  const earnings = row("In money, to an admin", "noised");
  const changes = row("Times demand was found to have changed", "noised");
  byId("fit").append(
    heading("fit-title", "Does it fit, does it pay?", status, label),
    words,
    h("dl", { class: "rows two" }, [...Object.values(rows), gain, earnings, changes].map((each) => each.line)),
  );

  return ({ product, health }) => {
    show(byId("fit"), Boolean(health));
    if (!health) return;
    setText(status, SHOWN[health.status] ?? health.status);
    status.dataset.state = health.status;
    setText(words, health.words);
    const amount = (product.bound ?? product.most) > 1 ? (value) => digits(value, 3) : percent;
    for (const [id] of FITS) setText(rows[id].value, fitText(health[id], amount));
    setText(gain.value, health.gain ? between(health.gain, signed) : product.holdout ? NOT_YET : "there is no holdout");
    show(earnings.line, Boolean(health.earnings));
    const inCurrency = (value) => money(value, product.currency, product.decimals);
    setText(earnings.value, health.earnings ? earningsText(health.earnings, inCurrency) : "");
    setText(changes.value, count(health.demand_changes));
  };
}

const signed = (share) => `${share > 0 ? "+" : ""}${percent(share)}`;
const between = ({ estimate, low, high }, shown) => `${shown(estimate)} (${shown(low)} to ${shown(high)})`;
const fitText = (fit, shown) =>
  fit ? `${between(fit.observed, shown)}; believed ${shown(fit.believed)}` : NOT_YET;
const earningsText = ({ personal, holdout }, shown) =>
  `${between(personal, shown)}; holdout ${between(holdout, shown)}`;
