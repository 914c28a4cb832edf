// The price map: which two features, which point; the demand curve follows the point.

import * as api from "./api.js";
import { byId, chart, h, memo, setText, show } from "./dom.js";
import { features } from "./features.js";
import { featureValue, money } from "./format.js";
import { cellAt, frame, heat, legend, line, placeCursor, range } from "./heatmap.js";
import { heading, tag } from "./labels.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const WHY = {
  retired: "The product is retired: nobody is quoted a price.",
  frozen: "The product is frozen, so everybody is quoted the reference price.",
  fixed: "The policy is fixed: everybody is quoted the reference price.",
  none: "No release yet: but for the coin of an experiment, everybody is quoted the reference price.",
  rules: "One price for all: it is at a limit, the ceiling or one of the price rules.",
  featureless: "This product asks nothing of its customers, so there is one price for all.",
  noise: "Still the reference price: what was released so far is noise-dominated, so no attribute moves the price yet.",
};

export function createPriceMap(onPoint) {
  const [across, up] = [picker("map-x", "Across"), picker("map-y", "Up")];
  const label = h("span", { class: "tag-slot" });
  const map = h(
    "div",
    {
      class: "plot map",
      id: "map",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "price map",
      "aria-describedby": "map-keys",
    },
  );
  const scale = h("div", { class: "plot scale" });
  const readout = h("p", { class: "readout", id: "map-readout", "aria-live": "polite" });
  const note = h("p", { class: "note hatched" });
  const keys = h(
    "p",
    { class: "small", id: "map-keys" },
    "Arrow keys, a click or a touch choose the customer whose demand is drawn. ",
    "Features not shown stand at their middle.",
  );
  let [product, data, cell, width, version] = [null, null, [0, 0], 0, ""];
  const shown = (price) => money(price, product.currency, product.decimals);

  const draw = chart(map, (now, next) => {
    width = now;
    map.replaceChildren(next.y ? heat(now, next) : line(now, next, shown));
    placeCursor(map, now, next, cell);
  });
  const drawScale = chart(scale, (now, next) => scale.replaceChildren(legend(now, next, shown)));
  const describe = ([column, row]) => {
    const point = [[data.x, column], ...(data.y ? [[data.y, row]] : [])];
    const named = point.map(([axis, index]) => `${axis.name} ${featureValue(axis.values[index])}`);
    return `${named.join(", ")}: ${shown(data.prices[row][column])}`;
  };
  const choose = (next) => {
    cell = next;
    setText(readout, describe(cell));
    if (width) placeCursor(map, width, data, cell);
    onPoint({ ...pointOf(data, cell), version, price: data.prices[cell[1]][cell[0]] });
  };
  const at = (event) => {
    const box = map.getBoundingClientRect();
    return cellAt(frame(width, data), event.clientX - box.left, event.clientY - box.top);
  };
  map.addEventListener("pointermove", (event) => data && setText(readout, describe(at(event))));
  map.addEventListener("pointerleave", () => data && setText(readout, describe(cell)));
  map.addEventListener("click", (event) => data && choose(at(event)));
  map.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step || !data) return;
    event.preventDefault();
    const most = [data.x.values.length - 1, data.prices.length - 1];
    choose(cell.map((value, axis) => Math.min(most[axis], Math.max(0, value + step[axis]))));
  });

  const second = () => (up.parentElement.hidden ? null : up.value);
  const load = async (name, x, y) => {
    const answer = await api.prices(name, x, y);
    if (name !== product.name || x !== across.value || y !== second()) return; // chosen otherwise meanwhile
    const next = withFlatness({ ...answer, y: y ? answer.y : null }, product);
    const same = data && data.x.name === x && data.y?.name === next.y?.name && data.product === name;
    data = { ...next, product: name };
    if (!same) cell = [Math.floor(data.x.values.length / 2), Math.floor(data.prices.length / 2)];
    draw(data);
    show(scale, Boolean(data.y));
    if (data.y) drawScale(data);
    map.setAttribute(
      "aria-label",
      `Prices by ${x}${y ? ` and ${y}` : ""}, from ${range(data.prices).map(shown).join(" to ")}`,
    );
    choose(cell);
  };
  const offer = memo((name, names) => {
    across.replaceChildren(...names.map((each) => new Option(each)));
    up.replaceChildren(...names.map((each) => new Option(each)));
    if (names.length > 1) up.value = names[1];
    show(up.parentElement, names.length > 1);
    show(map, names.length > 0);
  });
  const say = (text) => {
    setText(note, text);
    show(note, text !== "");
  };
  let asked = null;
  const refresh = (key) => {
    if (key === asked) return Promise.resolve();
    asked = key;
    return load(product.name, across.value, second()).catch((error) => {
      asked = null; // so that the next poll asks again
      if (!(error instanceof api.Away)) setText(readout, error.message);
    });
  };
  const changed = (moved, other) => {
    if (moved.value === other.value) other.value = [...other.options].map((each) => each.value).find(
      (each) => each !== moved.value,
    ) ?? "";
    refresh(JSON.stringify([version, across.value, up.value]));
  };
  across.addEventListener("change", () => changed(across, up));
  up.addEventListener("change", () => changed(up, across));

  byId("pricemap").append(
    heading("pricemap-title", "Price map", label),
    h("div", { class: "pickers" }, across.parentElement, up.parentElement),
    map, scale, readout, note, keys,
  );

  return (state) => {
    product = state.product;
    offer(product.name, features(product).map((each) => each.name));
    drawLabel(label, state.privacy.versions > 0 ? "noised" : "public");
    version = fingerprint(state);
    if (!across.value) return say(WHY.featureless);
    return refresh(JSON.stringify([version, across.value, up.value])).then(() => {
      const shown = data?.flat && data.product === product.name;
      say(shown ? reason(state, data) : "");
    });
  };
}

const drawLabel = memo((slot, label) => slot.replaceChildren(tag(label)));

function picker(id, title) {
  const select = h("select", { id });
  h("label", { class: "chooser", for: id }, h("span", null, title), select);
  return select;
}

function pointOf(data, [column, row]) {
  const point = { [data.x.name]: data.x.values[column] };
  if (data.y) point[data.y.name] = data.y.values[row];
  return { product: data.product, point };
}

// One price for all, to the smallest coin: then there is no map to read, and the page says why.
function withFlatness(data, product) {
  const [low, high] = range(data.prices);
  return { ...data, flat: data.ready === false || high - low < 10 ** -(product.decimals ?? 2) / 2 };
}

// All that can move a price: nothing is asked again until one of these does.
const fingerprint = ({ product, privacy }) =>
  JSON.stringify(
    [product.name, product.status, product.rules, product.reference_price, privacy.versions, privacy.releases],
  );

function reason({ product, privacy }, data) {
  if (product.status in WHY) return WHY[product.status];
  if (product.policy === "fixed") return WHY.fixed;
  if (!privacy.versions) return WHY.none;
  const [price] = range(data.prices);
  return Math.abs(price - product.reference_price) < 10 ** -product.decimals ? WHY.noise : WHY.rules;
}
