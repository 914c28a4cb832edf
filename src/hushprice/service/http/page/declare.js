// The form that declares a product, in a shop's words. Everything in it is public and fixed from then on.

import * as api from "./api.js";
import { aggregators, attributes, declaration, elasticity, fitted, number, productName, share, Unclear } from "./declaration.js";
import { byId, h, setText, show } from "./dom.js";

const field = (name, title, read, more = {}) => ({ name, title, read, ...more });
const amount = (name, title, more) => field(name, title, number(name), { mode: "decimal", ...more });
const percent = (name, title, more) => field(name, title, share(name), { mode: "decimal", ...more });
const text = (value) => value;

const ASKED = [
  field("name", "Name of the product", productName, { needed: true, hint: "a-z, 0-9 and -, such as airport-transfer" }),
  field("currency", "Currency", text, { needed: true, value: "EUR", hint: "three letters" }),
  amount("reference_price", "Today's price", { needed: true }),
  amount("floor", "Lowest price", { needed: true, hint: "below today's" }),
  amount("ceiling", "Highest price", { needed: true, hint: "above today's" }),
  amount("unit_cost", "What a unit costs you", { value: "0", hint: "shown to admins alone" }),
  percent("conversion", "Of 100 visitors, how many buy today?", {
    needed: true,
    hint: "a guess within a factor of three will do",
  }),
  field("elasticity", "If the price rises by 1 %, by how many percent do sales fall?", elasticity, {
    mode: "text",
    hint: "if you know: 1.5, or a range such as 1 to 3",
  }),
  field("schema", "What a price may depend on", attributes, {
    lines: 4,
    hint: "a line each: “age: 18 to 90”, “region: city, country” or “member: yes or no”. Other values have a price "
      + "too. Leave it empty for one price for all",
  }),
  percent("risk", "How much may learning cost at most, in percent of what today's price earns?", { value: "2" }),
  percent("holdout", "Percent of visitors who go on paying today's price, to compare with", {
    value: "10",
    hint: "without them nobody can tell whether prices pay",
  }),
];
const ADVANCED = [
  amount("epsilon", "epsilon: what is promised to a visit", { value: "1" }),
  field("delta", "delta", (value) => (Number.isFinite(Number(value)) ? Number(value) : value), { value: "2/T^2" }),
  field("trust", "Whom customers have to trust", text, {
    options: [
      ["", "you, who hold their records (central)"],
      ["local", "nobody: a customer's device makes the price and reports one bit (local)"],
      ["aggregated", "one of two aggregators (aggregated)"],
    ],
    hint: "their own devices then make prices, nobody is in a holdout, and fewer attributes serve better",
  }),
  field("aggregators", "The two aggregators", aggregators, {
    lines: 2,
    hint: "a line each, the address and the key that hushprice aggregator says; for that trust alone",
  }),
  amount("horizon", "Visits learned from", { hint: "then prices stay as they are" }),
  amount("most", "The most that one visitor can buy", { hint: "1 unless given" }),
  amount("step", "How far prices are apart", { hint: "such as 1; any price unless given" }),
  amount("ending", "One of these prices", { hint: "such as 0.99: with a step of 1 all end in .99" }),
  amount("records_per_customer", "Visits of a customer that count", { hint: "then every quote needs a customer key" }),
  field("prior", "What a log says", fitted, {
    lines: 3,
    hint: "the content of the file that hushprice fit wrote: prices start from it. Its budget is added to the "
      + "product's, since who is in the log may come again",
  }),
  amount("quote_seconds", "Seconds that a price holds", { value: "900" }),
  amount("outcome_seconds", "Seconds in which a purchase can be told", { value: "3600" }),
];
const FIELDS = [...ASKED, ...ADVANCED];

export function createDeclare(onMade) {
  const dialog = byId("declare-dialog");
  const inputs = Object.fromEntries(FIELDS.map((each) => [each.name, input(each)]));
  inputs.trust.addEventListener("change", () => {
    if (inputs.trust.value) inputs.holdout.value = "0"; // which needs records
  });
  const problem = h("p", { class: "error", id: "declare-error", role: "alert" });
  const advanced = h("details", null, h("summary", null, "Advanced"), ADVANCED.map((each) => line(each, inputs)));
  const form = h(
    "form",
    { id: "declare-form", novalidate: true, onsubmit: submit },
    h("h2", { id: "declare-title" }, "A new product"),
    h("p", null, "All of it is public and stays as it is: say what you know without looking at single customers."),
    ASKED.map((each) => line(each, inputs)),
    advanced,
    problem,
    h(
      "div",
      { class: "buttons" },
      h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"),
      h("button", { type: "submit", class: "strong" }, "Create the product"),
    ),
  );
  dialog.append(form);
  byId("declare").addEventListener("click", () => {
    form.reset();
    refuse("");
    dialog.showModal();
    inputs.name.focus();
  });

  function refuse(message, name) {
    setText(problem, message);
    for (const each of FIELDS) inputs[each.name].removeAttribute("aria-invalid");
    const wrong = inputs[name === "contexts" ? "schema" : name];
    if (!wrong) return;
    if (ADVANCED.some((each) => each.name === name)) advanced.open = true;
    wrong.setAttribute("aria-invalid", "true");
    wrong.focus();
  }

  async function submit(event) {
    event.preventDefault();
    try {
      const texts = Object.fromEntries(FIELDS.map(({ name }) => [name, inputs[name].value]));
      const made = await api.declare(declaration(texts, FIELDS));
      dialog.close();
      onMade(made.name);
    } catch (error) {
      if (!(error instanceof Unclear || error instanceof api.Refused || error instanceof api.Away)) throw error;
      refuse(error.message, error.field);
    }
  }

  // With an admin key, on the port that takes products.
  return async (key) => show(byId("declare"), Boolean(key) && (await api.mayDeclare(key)));
}

function input({ name, value = "", mode = "text", lines = 0, options }) {
  const [id, hint] = [`declare-${name}`, `hint-${name}`];
  const common = { id, autocomplete: "off", spellcheck: "false", "aria-describedby": hint };
  if (options) return h("select", common, options.map(([each, words]) => h("option", { value: each }, words)));
  if (lines) return h("textarea", { ...common, rows: lines });
  return h("input", { ...common, type: "text", inputmode: mode, value });
}

const line = ({ name, title, hint = "" }, inputs) =>
  h(
    "div",
    { class: "field" },
    h("label", { for: `declare-${name}` }, title),
    inputs[name],
    h("p", { class: "small", id: `hint-${name}` }, hint),
  );
