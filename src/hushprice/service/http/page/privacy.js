// What prices can reveal of a customer: claimed, proven, spent, left, and what that means in words.

import { Away, certificatePath, session } from "./api.js";
import { byId, chart, h, s, setText, show } from "./dom.js";
import { count, digits, epsilon, NONE, tiny } from "./format.js";
import { heading, row, tag } from "./labels.js";
import { linear } from "./scale.js";

const PARTS = [
  ["claimed", "Claimed", "what the product asked for"],
  ["proven", "Proven", "computed for the noise that is added"],
  ["spent", "Spent", "by everything released so far"],
  ["left", "Left", "claimed less spent"],
];
const KEY = [
  ["bar-all", "claimed"],
  ["bar-spent", "spent"],
  ["bar-proven", "proven"],
];

export function createPrivacy() {
  const values = Object.fromEntries(PARTS.map(([id]) => [id, h("span", { class: "value" })]));
  const cells = PARTS.map(([id, title, meaning]) =>
    h(
      "div",
      { class: `part part-${id}` },
      h("dt", null, title, tag("public")),
      h("dd", null, values[id], h("small", null, meaning)),
    ),
  );
  const bar = h("div", { class: "budget-bar", role: "img" });
  const drawBar = chart(bar, (width, amounts) => bar.replaceChildren(budgetBar(width, amounts)));
  const note = h("p", { class: "note" });
  const promise = h("p");
  const customer = h("p");
  const adjacency = row("Neighbours", "public");
  const mu = row("Customer level", "public");
  const together = row("Customer of all products", "public");
  const link = h("a", { class: "button", download: "" }, "Download the certificate");
  const answer = h("span", { class: "small", role: "status" });
  const hint = h("code", { class: "command" });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    download(link, answer);
  });

  byId("privacy").append(
    heading("privacy-title", "Privacy"),
    h("dl", { class: "parts" }, cells),
    h("div", { class: "budget" }, bar, h("p", { class: "key", "aria-hidden": "true" }, KEY.map(keyOf))),
    note,
    h("div", { class: "words labelled" }, h("h3", null, "In plain words ", tag("public")), promise, customer),
    h("dl", { class: "rows" }, adjacency.line, mu.line, together.line),
    h(
      "div",
      { class: "certificate" },
      h("div", { class: "buttons" }, link, answer),
      h("p", { class: "small" }, "Check it anywhere, without a single record. The operator gives out the public key:"),
      hint,
    ),
  );

  return ({ product, privacy, all }) => {
    for (const [id] of PARTS) setText(values[id], privacy[id] ? `ε ${epsilon(privacy[id].epsilon)}` : NONE);
    const amounts = Object.fromEntries(PARTS.map(([id]) => [id, privacy[id]?.epsilon ?? 0]));
    drawBar(amounts);
    const [claimed, spent, left] = [amounts.claimed, amounts.spent, amounts.left].map(epsilon);
    const shown = `Budget: epsilon ${spent} spent of ${claimed}, ${left} left.`;
    if (bar.getAttribute("aria-label") !== shown) bar.setAttribute("aria-label", shown);
    setText(note, privacy.note ?? "");
    show(note, Boolean(privacy.note));
    setText(promise, inWords(privacy));
    setText(customer, promises(privacy) ? ofCustomers(privacy.customer, product.records_per_customer) : "");
    setText(
      adjacency.value,
      privacy.claimed ? `${privacy.adjacency}, δ = ${tiny(privacy.claimed.delta)}` : privacy.adjacency,
    );
    show(together.line, Boolean(all));
    if (all) setText(together.value, all.customer ? figuresOf(all.customer) : "not bounded: a product has no cap");
    setText(mu.value, levelText(privacy.customer, product.records_per_customer));
    const file = `${product.name}.certificate.json`;
    if (link.download !== file) {
      link.href = certificatePath(product.name);
      link.download = file;
      setText(answer, "");
      setText(hint, `hushprice verify ${file} --public-key KEY.pub`);
    }
  };
}

function keyOf([name, text]) {
  const line = { class: name, x1: 8, x2: 8, y1: 1, y2: 13 };
  const box = { class: name, y: 2, width: 16, height: 10, rx: 5 };
  const shape = name === "bar-proven" ? s("line", line) : s("rect", box);
  return h("span", null, s("svg", { width: 16, height: 14 }, shape), text);
}

const promises = ({ policy, proven }) => policy !== "fixed" && proven;

const figuresOf = ({ epsilon: value, records, mu }) =>
  `ε ${epsilon(value)} at ${count(records)} records, μ = ${digits(mu, 3)}`;

function levelText(customer, cap) {
  if (!customer) return cap ? `at most ${count(cap)} records` : "no cap declared";
  return figuresOf(customer);
}

function inWords(privacy) {
  if (!promises(privacy)) return "Prices here depend on no record, so there is nothing that they could reveal.";
  const odds = digits(Math.exp(privacy.proven.epsilon), 3);
  return [
    "Take any one quote and replace what that customer was like and did by anything else. Whatever somebody sees in",
    `all the later prices is then at most ${odds} times as likely as before (and a chance of`,
    `${tiny(privacy.proven.delta)} on top). It holds however many releases there will be.`,
  ].join(" ");
}

function ofCustomers(customer, cap) {
  if (!customer && cap) return `A customer counts with ${count(cap)} quotes at most.`;
  if (!customer) {
    return [
      "This is about one quote. No cap on records per customer was declared, so somebody who comes often is covered",
      "once for each visit, not for all of them together.",
    ].join(" ");
  }
  const quotes = customer.records === 1 ? "1 quote" : `${count(customer.records)} quotes`;
  const odds = digits(Math.exp(customer.epsilon), 3);
  const figures = `(ε ${epsilon(customer.epsilon)}, δ\u00a0${tiny(customer.delta)})`;
  return `A customer counts with ${quotes} at most. For all of them together the factor is ${odds} ${figures}.`;
}

function budgetBar(width, { claimed, proven, spent }) {
  const x = linear(0, Math.max(claimed, proven) || 1, 0, width);
  const mark = Math.min(width - 1, Math.max(1, x(proven)));
  return s("svg", { width, height: 26, "aria-hidden": "true" },
    s("rect", { class: "bar-all", x: 0, y: 6, width, height: 14, rx: 7 }),
    spent > 0 && s("rect", { class: "bar-spent", x: 0, y: 6, width: Math.max(x(spent), 7), height: 14, rx: 7 }),
    s("line", { class: "bar-proven", x1: mark, x2: mark, y1: 1, y2: 25 }),
  );
}

// By a request of its own, because a link cannot carry the key.
async function download(link, answer) {
  setText(answer, "");
  try {
    const headers = session.key ? { Authorization: `Bearer ${session.key}` } : {};
    const response = await fetch(link.href, { headers, cache: "no-store" });
    if (response.status === 404) return setText(
      answer,
      "There is none yet: the first is written when learning has begun.",
    );
    if (!response.ok) return setText(answer, "Refused: sign in with an auditor's key.");
    const url = URL.createObjectURL(await response.blob());
    h("a", { href: url, download: link.download }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    return setText(answer, "Saved.");
  } catch {
    return setText(answer, new Away("The service does not answer.").message);
  }
}
