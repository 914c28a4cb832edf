// Where a number comes from. Each one on the page carries one of three labels, in words.

import { byId, h } from "./dom.js";

export const MEANING = {
  public: "declared, or counted without reading what any customer is like or did. Anybody may see it.",
  noised: "computed from customer records, with noise added that the privacy budget has paid for. Anybody may see it.",
  "operator-only": "raw: computed from customer records without noise. It stays with the operator.",
};

export function tag(label) {
  return h("span", { class: `tag tag-${label}`, title: `${label}: ${MEANING[label] ?? ""}` }, label);
}

// A row of a definition list: what it is, its value, its label. Returns the row and the node of its value.
export function row(term, label, className = "") {
  const value = h("span", { class: "value" }, "–");
  const line = h("div", { class: `row ${className}` }, h("dt", null, term), h("dd", null, value, " ", tag(label)));
  return { line, value };
}

export function heading(id, title, ...extra) {
  return h("div", { class: "card-head" }, h("h2", { id }, title), ...extra);
}

export function drawLegend() {
  const items = Object.entries(MEANING).map(([label, meaning]) => h("li", null, tag(label), h("span", null, meaning)));
  byId("labels").append(h("h2", { id: "labels-title" }, "What the labels say"), h("ul", null, items));
}
