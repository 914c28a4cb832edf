// Which API keys ask, how much of the horizon each has used, and what somebody should look at.

import { h, memo, setText, show } from "./dom.js";
import { count, moment, percent } from "./format.js";

const WHY = {
  horizon: (alarm) => `used ${percent(alarm.share)} of the horizon within ten minutes`,
  prices: (alarm) => `made ${percent(alarm.share)} of a batch; prices moved by ${percent(alarm.moved)} of the ceiling`,
};
const COLUMNS = [
  ["API key", (each) => each.key],
  ["Quotes", (each) => count(each.quotes)],
  ["Of the horizon", (each) => percent(each.share)],
  ["Last ten minutes", (each) => count(each.recent)],
];

export function createKeys() {
  const body = h("tbody");
  const alarms = h("ul", { class: "alarms", "aria-live": "polite" });
  const none = h("p", { class: "small" });
  const table = h(
    "table",
    { class: "history" },
    h("caption", { class: "unseen" }, "Quotes by API key"),
    h("thead", null, h("tr", null, COLUMNS.map(([title]) => h("th", { scope: "col" }, title)))),
    body,
  );
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Quotes by API key" }, table);
  const draw = memo((keys, raised) => {
    body.replaceChildren(...keys.map((each) => h("tr", null, COLUMNS.map(([, read]) => h("td", null, read(each))))));
    alarms.replaceChildren(...raised.map(alarmLine));
  });
  const update = ({ product, figures }) => {
    const mine = (each) => each.product === product.name;
    const [keys, raised] = [figures.activity.keys.filter(mine), figures.activity.alarms.filter(mine)];
    draw(keys, raised);
    show(scroll, keys.length > 0);
    setText(none, raised.length ? "" : "No alarm since the learner started.");
  };
  return { nodes: [alarms, none, scroll], update };
}

const alarmLine = (alarm) =>
  h(
    "li",
    null,
    h("b", null, alarm.key),
    ` ${WHY[alarm.kind](alarm)} `,
    h("time", null, moment(new Date(1000 * alarm.at).toISOString())),
  );
