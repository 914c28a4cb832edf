// What became of the quotes: raw counts.

import { chart, h, s, setText } from "./dom.js";
import { count, percent } from "./format.js";
import { tag } from "./labels.js";

const STAGES = [
  ["quoted", "Quoted"],
  ["bought", "Bought"],
  ["declined", "Declined"],
  ["expired", "Expired"],
  ["waiting", "Waiting"],
];
const ASIDE = [
  ["repeated", "Repeated", "told again, same answer"],
  ["conflicting", "Conflicting", "told otherwise, refused"],
  ["late", "Late", "after the deadline, not learned"],
  ["over_cap", "Over cap", "slot kept, counts as nothing"],
  ["forgotten", "Forgotten", "deleted, slot kept"],
];

export function createFunnel() {
  const lines = STAGES.map(([id, name]) => {
    const value = h("span", { class: "value" });
    const bar = h("div", { class: "stage-bar" });
    const draw = chart(bar, (width, share) => bar.replaceChildren(barOf(width, share, id)));
    const line = h(
      "div",
      { class: "stage", id: `funnel-${id}` },
      h("dt", null, name),
      h("dd", null, value, " ", tag("operator-only"), bar),
    );
    return { id, value, draw, line };
  });
  const asides = ASIDE.map(([id, name, meaning]) => {
    const value = h("span", { class: "value" });
    return {
      id,
      value,
      line: h(
        "div",
        { class: "aside", id: `funnel-${id}` },
        h("dt", null, name),
        h("dd", null, value, " ", tag("operator-only"), h("small", null, meaning)),
      ),
    };
  });
  const update = ({ figures: { figures } }) => {
    for (const each of lines) {
      const share = figures.quoted ? figures[each.id] / figures.quoted : 0;
      setText(
        each.value,
        each.id === "quoted" ? count(figures.quoted) : `${count(figures[each.id])}, ${percent(share)}`,
      );
      each.draw(share);
    }
    for (const each of asides) setText(each.value, count(figures[each.id]));
  };
  const nodes = [
    h("dl", { class: "stages" }, lines.map((each) => each.line)),
    h("dl", { class: "asides" }, asides.map((each) => each.line)),
  ];
  return { nodes, update };
}

const barOf = (width, share, id) =>
  s("svg", { width, height: 8, "aria-hidden": "true" },
    s("rect", { class: "bar-all", width, height: 8, rx: 4 }), share > 0 && s(
      "rect",
      { class: `bar-stage stage-${id}`, width: Math.max(4, share * width), height: 8, rx: 4 },
    ));
