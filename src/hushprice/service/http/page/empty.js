// What a newcomer sees: no product yet, or a closed page.

import { byId, h } from "./dom.js";

const EXAMPLE = {
  name: "airport-transfer",
  currency: "EUR",
  reference_price: 30,
  floor: 24,
  ceiling: 36,
  unit_cost: 12,
  conversion: 0.02,
  risk: 0.02,
  holdout: 0.1,
  schema: {
    attributes: [
      { kind: "number", name: "hours_ahead", low: 0, high: 72 },
      { kind: "boolean", name: "member" },
    ],
  },
};

const QUOTE = { product: "airport-transfer", attributes: { hours_ahead: 5, member: true } };

// A line for each field, as short as a person would write it.
function pretty(body) {
  const lines = Object.entries(body).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value).replace(/([,:])/g, "$1 ")}`,
  );
  return `{\n${lines.join(",\n").replace("[{", "[\n      {").replaceAll("}, {", "},\n      {")}\n  }`;
}

function command(path, key, body) {
  const lines = [
    `curl ${new URL(path, document.baseURI)}`,
    `-H "Authorization: Bearer ${key}"`,
    `-d '${pretty(body)}'`,
  ];
  return lines.join(" \\\n  ");
}

export function drawEmpty() {
  byId("empty").append(
    h("h1", { id: "empty-title" }, "No product yet"),
    h(
      "p",
      null,
      "A product says what you know: today's price, the lowest and the highest, what a unit costs, how many of your ",
      "visitors buy, what a price may depend on, and how much learning may cost. It is public and fixed before the ",
      "first quote. Sign in with the admin key for a form, or send it; it shows up here within two seconds.",
    ),
    h("h2", null, "1. Create a product"),
    h(
      "pre",
      { tabindex: 0, "aria-label": "Command that creates a product" },
      h("code", null, command("v1/products", "$ADMIN_KEY", EXAMPLE)),
    ),
    h("h2", null, "2. Ask for a price"),
    h(
      "pre",
      { tabindex: 0, "aria-label": "Command that asks for a quote" },
      h("code", null, command("v1/quotes", "$SHOP_KEY", QUOTE)),
    ),
    h(
      "p",
      { class: "small" },
      "The keys are in the file that the service named when it started. Every call is described at ",
      h("a", { href: "openapi.json" }, "openapi.json"),
      ".",
    ),
  );
}

export function drawLocked(signIn) {
  byId("locked").append(
    h("h1", { id: "locked-title" }, "This page is closed"),
    h("p", null, "The service shows its public figures to known keys only. Sign in with an auditor's or an admin key."),
    h("button", { type: "button", class: "strong", onclick: signIn }, "Sign in"),
  );
}
