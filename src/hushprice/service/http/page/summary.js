// The head of the page: which product, and four numbers that say how far it is.

import { byId, h, setText, show } from "./dom.js";
import { count, epsilon, money, NONE } from "./format.js";
import { tag } from "./labels.js";

const FACTS = [
  ["quotes", "Quotes given", "public"],
  ["learned", "Learned from", "public"],
  ["versions", "Price version", "noised"],
  ["spent", "Budget spent", "public"],
];

const TRUST = {
  central: "customers trust the shop, which holds their records",
  local: "nobody but a customer's own device sees a record: it makes the price, and sends one bit",
  aggregated: "nobody but a customer's own device sees a record, while one of two aggregators is honest",
};

export function createSummary() {
  const name = h("h1", { id: "product-name" });
  const status = h("span", { class: "pill" });
  const [declared, cost] = [h("span"), h("span")];
  const line = h(
    "p",
    { class: "facts" },
    declared,
    " ",
    tag("public"),
    h("span", { hidden: true }, cost, tag("operator-only")),
  );
  const doubts = h("p", { class: "facts", id: "doubts", hidden: true });
  const values = Object.fromEntries(FACTS.map(([id]) => [id, h("span", { class: "big" }, NONE)]));
  const notes = Object.fromEntries(FACTS.map(([id]) => [id, h("span", { class: "small" })]));
  const cells = FACTS.map(([id, title, label]) =>
    h("div", { class: "kpi", id: `kpi-${id}` }, h("dt", null, title, tag(label)), h("dd", null, values[id], notes[id])),
  );
  byId("summary").append(h("div", { class: "title-line" }, name, status), line, doubts, h("dl", { class: "kpis" }, cells));

  return ({ product, privacy }) => {
    setText(name, product.name);
    setText(status, product.status);
    status.dataset.state = product.status;
    const inCurrency = (value) => money(value, product.currency, product.decimals);
    const parts = [
      `prices up to ${inCurrency(product.ceiling)}`,
      `reference price ${inCurrency(product.reference_price)}`,
    ];
    parts.push(`policy ${product.policy}`, `trust ${product.trust}: ${TRUST[product.trust]}`);
    setText(declared, parts.join("  ·  "));
    const told = Number.isFinite(product.unit_cost); // to an admin only
    setText(cost, told ? `  ·  unit cost ${inCurrency(product.unit_cost)} ` : "");
    show(cost.parentElement, told);
    setText(doubts, `To think over: ${product.warnings.join("; ")}.`);
    show(doubts, product.warnings.length > 0);
    setText(values.quotes, count(privacy.quotes));
    setText(notes.quotes, `of ${count(privacy.horizon)} to learn from`);
    setText(values.learned, count(privacy.learned));
    setText(notes.learned, privacy.releases ? "up to the last release" : "until the first release");
    setText(values.versions, String(privacy.versions));
    setText(notes.versions, privacy.releases === 1 ? "1 release so far" : `${count(privacy.releases)} releases so far`);
    setText(values.spent, `ε ${epsilon(privacy.spent?.epsilon ?? 0)}`);
    setText(
      notes.spent,
      privacy.claimed ? `of ${epsilon(privacy.claimed.epsilon)} claimed` : "nothing is learned from customers",
    );
  };
}
