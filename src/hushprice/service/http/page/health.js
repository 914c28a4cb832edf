// Is it up, is it learning, and what was changed by hand.

import { byId, h, memo, setText, show } from "./dom.js";
import { count, duration, money, moment, percent } from "./format.js";
import { heading, row, tag } from "./labels.js";

const ENDED = {
  retired: "ended: the product is retired, and nothing is quoted.",
  horizon: "ended: the horizon is reached. Prices go on from the last release.",
  "policy fixed": "none: the policy is fixed, so nothing is learned",
};
const LEARNER = {
  away: "away: prices stand still until it is back",
  behind: "behind: slots are due and not learned; see the service's log",
  unreadable: "its part of the store cannot be read: restore a backup",
  stopped: "stopped: it died too often, and the operator must look",
};
const WELL = new Set([true, "up", "ok", "alive", "ready", "running"]);

const DECLARED = [
  ["A price holds for", (product) => duration(product.quote_seconds)],
  ["Outcomes are taken for", (product) => duration(product.outcome_seconds)],
  ["Held out at the reference price", (product) => percent(product.holdout ?? 0)],
  [
    "Records per customer",
    (product) => (product.records_per_customer ? `at most ${count(product.records_per_customer)}` : "not capped"),
  ],
  ["Price rules", ruleText],
];

export function createHealth() {
  const lights = ["Ready to quote", "Store", "Learner"].map((name) => {
    const text = h("span");
    return {
      text,
      line: h(
        "li",
        { "data-state": "wait" },
        h("span", { class: "dot", "aria-hidden": "true" }),
        h("b", null, name),
        text,
      ),
    };
  });
  const learning = row("Learning", "public", "tall");
  const version = row("Prices made by version", "noised");
  const due = row("Next release after slot", "noised");
  const products = row("Products", "public");
  const declared = DECLARED.map(([name, read]) => ({ read, ...row(name, "public") }));
  const list = h("ol", { class: "changes", reversed: true });
  const none = h("p", { class: "small" }, "None. Every price so far came from the declared rules and the releases.");
  const drawChanges = memo((changes) => list.replaceChildren(...changes.map(change).reverse()));

  byId("health").append(
    heading("health-title", "Health"),
    h("ul", { class: "lights" }, lights.map((each) => each.line)),
    h("dl", { class: "rows" }, learning.line, version.line, due.line, products.line),
    h("h3", null, "Declared"),
    h("dl", { class: "rows" }, declared.map((each) => each.line)),
    h(
      "div",
      { class: "words labelled" },
      h("h3", null, "Changed by hand, outside the guarantee ", tag("public")),
      none,
      list,
    ),
  );

  return ({ ready, product, privacy, report }) => {
    light(lights[0], ready?.ready, ["yes", "no"]);
    light(lights[1], ready?.store, ["up", "away: quotes go on, outcomes must be told again"]);
    light(lights[2], ready?.learner, ["running", LEARNER[ready?.learner] ?? LEARNER.away]);
    setText(learning.value, learningText(privacy, product));
    setText(version.value, privacy.versions ? String(privacy.versions) : "0, the reference price");
    setText(
      due.value,
      privacy.next_release_after_slot === null ? "none will come" : count(privacy.next_release_after_slot),
    );
    setText(products.value, count(Number(ready?.products?.length ?? ready?.products)));
    for (const each of declared) setText(each.value, each.read(product));
    const changes = report.changes ?? [];
    drawChanges(changes);
    show(none, changes.length === 0);
    show(list, changes.length > 0);
  };
}

function light({ line, text }, value, [good, bad]) {
  const well = WELL.has(value);
  setText(text, well ? good : bad);
  line.dataset.state = well ? "good" : "bad";
}

function learningText(privacy, product) {
  if (privacy.learning_ended) return ENDED[privacy.learning_ended] ?? `ended: ${privacy.learning_ended}`;
  if (product.status === "frozen") return "yes; frozen: everybody is quoted the reference price";
  return privacy.learned ? "yes" : "yes, from the first deadline on";
}

function ruleText(product) {
  const show = (value) => money(value, product.currency, product.decimals);
  const { floor, ceiling, largest_step: step, ladder } = product.rules ?? {};
  const parts = [
    floor && `at least ${show(floor)}`,
    ceiling && `at most ${show(ceiling)}`,
    step && `within ${show(step)} of the reference`,
    ladder && `ending in ${String(ladder).replace(/^0/, "")}`,
  ];
  return parts.filter(Boolean).join(", ") || "none";
}

const change = (each) => h(
  "li",
  null,
  h("b", null, each.what),
  ` ${each.detail ?? ""} `,
  h("time", null, moment(each.at)),
);
