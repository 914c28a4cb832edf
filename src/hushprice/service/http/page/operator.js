// The operator's part: made after an admin key has opened it, taken away at sign-out.

import { byId, h, setText, show } from "./dom.js";
import { count, seconds } from "./format.js";
import { createFunnel } from "./funnel.js";
import { createKeys } from "./keys.js";
import { heading, row, tag } from "./labels.js";
import { createRevenue } from "./revenue.js";

const CLIPPED = [
  ["attributes", "Attributes clipped to their bounds"],
  ["features", "Features shortened"],
  ["demands", "Demands clipped"],
  ["unreadable", "Outcomes that could not be read"],
];

export function createOperator() {
  let parts = null;
  const build = () => {
    const [revenue, funnel, work, keys] = [createRevenue(), createFunnel(), createWork(), createKeys()];
    byId("operator").replaceChildren(
      h(
        "div",
        { class: "operator-head" },
        h("h2", { id: "operator-title" }, "For the operator"),
        h("p", null, "Raw figures. Publishing one of them is a release that nobody has paid for."),
      ),
      h("div", { class: "grid" },
        h(
          "section",
          { class: "card wide-7", "aria-labelledby": "revenue-title" },
          heading("revenue-title", "Revenue against the fixed-price holdout", tag("operator-only")),
          revenue.nodes,
        ),
        h(
          "section",
          { class: "card wide-5", "aria-labelledby": "funnel-title" },
          heading("funnel-title", "Funnel"),
          funnel.nodes,
        ),
        h(
          "section",
          { class: "card wide-12", "aria-labelledby": "work-title" },
          heading("work-title", "Clipping and fits"),
          work.nodes,
        ),
        h(
          "section",
          { class: "card wide-12", "aria-labelledby": "keys-title" },
          heading("keys-title", "API keys", tag("public")),
          keys.nodes,
        )),
    );
    return [revenue, funnel, work, keys];
  };
  return (state) => {
    show(byId("operator"), Boolean(state.figures));
    if (!state.figures) {
      if (parts) byId("operator").replaceChildren();
      parts = null;
      return;
    }
    parts ??= build();
    for (const each of parts) each.update(state);
  };
}

function createWork() {
  const clipped = CLIPPED.map(([id, name]) => ({ id, ...row(name, "operator-only") }));
  const [fits, mean, largest] = ["Fits made", "A fit takes, on average", "The longest took"].map(
    (name) => row(name, "operator-only"),
  );
  const update = ({ figures }) => {
    for (const each of clipped) setText(
      each.value,
      figures.clipped[each.id] === null ? "counted by quoters on other machines" : count(figures.clipped[each.id]),
    );
    setText(fits.value, count(figures.fit_seconds.count));
    setText(mean.value, seconds(figures.fit_seconds.mean));
    setText(largest.value, seconds(figures.fit_seconds.largest));
  };
  return {
    nodes: [h("dl", { class: "rows two" }, clipped.map((each) => each.line), fits.line, mean.line, largest.line)],
    update,
  };
}
