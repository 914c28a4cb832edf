// How many would buy at each price, at the point chosen in the price map, and how sure that is.

import * as api from "./api.js";
import { axisTitle, keyEntry, level, tickBelow, upright } from "./axes.js";
import { byId, chart, h, memo, s, setText, show } from "./dom.js";
import { digits, featureValue, money, percent } from "./format.js";
import { heading, tag } from "./labels.js";
import { linear, path, roomFor, ticks } from "./scale.js";

const [LEFT, RIGHT, TOP, BOTTOM, DOWN] = [44, 12, 12, 40, 250];

export function createDemand() {
  const label = h("span", { class: "tag-slot" });
  const point = h("p", { class: "small point" });
  const plot = h("div", { class: "plot", "aria-hidden": "true" });
  const slider = h("input", { type: "range", id: "price-slider", min: 0, step: 1 });
  const readout = h("p", { class: "readout", id: "demand-readout", "aria-live": "polite" });
  const keys = h(
    "p",
    { class: "key" },
    keyEntry("curve", " demand"),
    keyEntry("band-sample", " ± 2 deviations of the belief"),
    keyEntry("best", " price quoted here"),
    keyEntry("reference", " reference price"),
  );
  let [product, data, asked, wanted] = [null, null, null, null];
  const shown = (price) => money(price, product.currency, product.decimals);

  const draw = chart(plot, (width, next) => {
    plot.replaceChildren(drawing(width, next, (price) => money(price, next.currency, 0)));
    place(plot, width, next, Number(slider.value));
  });
  const read = () => {
    if (!data) return;
    const at = Number(slider.value);
    const amount = amountOf(data.bound);
    const [low, middle, high] = [data.low, data.demand, data.high].map((values) => amount(values[at]));
    const verb = data.bound > 1 ? "bought" : "buy";
    const text = `At ${shown(data.prices[at])}: ${middle} ${verb}, between ${low} and ${high}.`;
    setText(readout, text);
    slider.setAttribute("aria-valuetext", text);
    if (plot.firstChild) place(plot, plot.clientWidth, data, at);
  };
  let reading = false; // somebody has chosen a price to read at; until then it is the quoted one
  slider.addEventListener("input", () => {
    reading = true;
    read();
  });
  plot.addEventListener("pointermove", (event) => {
    if (!data) return;
    const box = plot.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    slider.value = String(Math.round(Math.min(1, Math.max(0, share)) * (data.prices.length - 1)));
    read();
  });
  byId("demand").append(heading("demand-title", "Demand at the chosen point", label), point, plot,
    h("label", { class: "slider", for: "price-slider" }, h("span", null, "Read at a price"), slider), readout, keys);

  const fixed = h("p", { class: "hollow" }, "The policy is fixed: it learns no demand, so there is no curve.");
  byId("demand").append(fixed);
  let timer;
  const load = async (chosen) => {
    const answer = await api.demand(chosen.product, chosen.point).catch((error) => {
      asked = null;
      if (!(error instanceof api.Away)) setText(readout, error.message);
      return null;
    });
    if (!answer || JSON.stringify(chosen) !== asked) return;
    const { currency, reference_price: reference } = product;
    const bound = product.bound ?? product.most ?? 1;
    data = { ...answer, product: chosen.product, currency, bound, quoted: chosen.price, reference };
    slider.max = String(data.prices.length - 1);
    if (!reading) slider.value = String(nearest(data.prices, data.quoted));
    draw(data);
    read();
  };
  const follow = (chosen) => {
    const key = JSON.stringify(chosen);
    if (key === asked || product.policy === "fixed") return;
    [asked, wanted] = [key, chosen];
    const values = Object.entries(chosen.point).map(([name, value]) => `${name} ${featureValue(value)}`);
    setText(point, `${values.join(", ")}: quoted ${shown(chosen.price)}`);
    clearTimeout(timer);
    timer = setTimeout(() => load(chosen), 90); // arrow keys held down ask once
  };
  return {
    update: (state) => {
      product = state.product;
      drawLabel(label, state.privacy.versions > 0 ? "noised" : "public");
      const learns = product.policy !== "fixed";
      for (const each of [point, plot, slider.parentElement, readout, keys]) show(each, learns);
      show(fixed, !learns);
      if (asked === null && wanted?.product === product.name) follow(wanted); // the last attempt failed
    },
    follow,
  };
}

const drawLabel = memo((slot, label) => slot.replaceChildren(tag(label)));
// Where one thing is bought or none, demand is a share of customers; otherwise so many things a customer.
const amountOf = (bound) => (bound > 1 ? (value) => digits(value, 3) : percent);
const nearest = (values, wanted) => {
  const distances = values.map((value) => Math.abs(value - wanted));
  return distances.indexOf(Math.min(...distances));
};

function scales(width, { prices, demand, high, bound }) {
  const top = roomFor(Math.max(...demand), Math.max(...high), bound);
  return [linear(prices[0], prices.at(-1), LEFT, width - RIGHT), linear(0, top, TOP + DOWN, TOP), top];
}

function drawing(width, data, shown) {
  const [x, y, top] = scales(width, data);
  const line = (values) => data.prices.map((price, index) => [x(price), y(Math.min(values[index], top))]);
  const [right, base] = [width - RIGHT, TOP + DOWN];
  const prices = ticks(data.prices[0], data.prices.at(-1), (width - LEFT) / 75);
  return s(
    "svg",
    { width, height: base + BOTTOM },
    ticks(0, top, 4).map((value) => level(y(value), LEFT, right, amountOf(data.bound)(value))),
    prices.map((price) => tickBelow(x(price), base, shown(price))),
    s("path", { class: "band", d: `${path([...line(data.high), ...line(data.low).reverse()])}Z` }),
    upright(x(data.reference), TOP, base, "reference"),
    upright(x(data.quoted), TOP, base, "best"),
    s("path", { class: "curve", d: path(line(data.demand)) }),
    s("circle", { class: "cursor-dot", r: 6 }),
    axisTitle((LEFT + right) / 2, base + 35, "price"),
  );
}

function place(plot, width, data, at) {
  const [x, y] = scales(width, data);
  const dot = plot.querySelector(".cursor-dot");
  dot?.setAttribute("cx", x(data.prices[at]));
  dot?.setAttribute("cy", y(data.demand[at]));
}
