// Every release in a table, the newest first.

import { byId, h, memo, setText, show } from "./dom.js";
import { count, moment } from "./format.js";
import { heading, tag } from "./labels.js";

const FIRST = 8;
const COLUMNS = [
  ["Release", (each) => String(each.sequence)],
  ["Kind", (each) => each.kind],
  ["Version", (each) => String(each.version)],
  ["Slots learned", (each) => count(each.records)],
  ["Made", (each) => moment(each.at)],
];

export function createHistory() {
  const body = h("tbody");
  const head = COLUMNS.map(([title]) => h("th", { scope: "col" }, title));
  const table = h(
    "table",
    { class: "history" },
    h("caption", { class: "unseen" }, "Releases, newest first"),
    h("thead", null, h("tr", null, head)),
    body,
  );
  const none = h(
    "p",
    { class: "hollow" },
    "No release yet. Until there is one, prices stay around the reference price.",
  );
  const more = h("button", { type: "button", class: "quiet" });
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Release history" }, table);
  let all = false;
  let last = [];
  const draw = memo((releases, everything) => {
    const shown = releases.toReversed().slice(0, everything ? undefined : FIRST);
    body.replaceChildren(...shown.map(line));
  });
  const update = (releases) => {
    last = releases;
    draw(releases, all);
    show(none, releases.length === 0);
    show(scroll, releases.length > 0);
    show(more, releases.length > FIRST);
    setText(more, all ? `Show the last ${FIRST} only` : `Show all ${count(releases.length)}`);
    more.setAttribute("aria-expanded", String(all));
  };
  more.addEventListener("click", () => {
    all = !all;
    update(last);
  });
  byId("history").append(heading("history-title", "Release history", tag("noised")), none, scroll, more);
  return ({ report }) => update(report.releases ?? []);
}

const line = (each) =>
  h(
    "tr",
    { class: each.kind },
    COLUMNS.map(
      ([title, read], index) => h(
        index ? "td" : "th",
        { scope: index ? null : "row", "data-title": title },
        read(each),
      ),
    ),
  );
