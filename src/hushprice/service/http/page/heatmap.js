// Prices over two features as a heat map, over one as a line. Drawing only.

import { axisTitle, level, tickBelow } from "./axes.js";
import { s } from "./dom.js";
import { featureValue } from "./format.js";
import { colour, colourBar, linear, path, ticks } from "./scale.js";

const BOTTOM = 40;
const RIGHT = 10;
const LETTER = 6.4; // pixels, about

// The rectangle the values lie in, and where their middles are.
export function frame(width, { x, y }) {
  const longest = y ? Math.max(...axisTexts(y.values).map((text) => text.length)) : 7;
  const left = Math.min(width * 0.26, Math.max(40, longest * LETTER + 26));
  const across = width - left - RIGHT;
  const down = Math.round(Math.min(330, Math.max(190, across * 0.62)));
  const box = {
    left,
    top: 8,
    across,
    down,
    height: 8 + down + BOTTOM,
    columns: x.values.length,
    rows: y ? y.values.length : 1,
  };
  const middleX = (index) => left + ((index + 0.5) * across) / box.columns;
  const middleY = (index) => box.top + down - ((index + 0.5) * down) / box.rows;
  return { ...box, middleX, middleY };
}

export function cellAt(box, px, py) {
  const inside = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value)));
  return [
    inside(((px - box.left) / box.across) * box.columns, box.columns),
    inside(((box.top + box.down - py) / box.down) * box.rows, box.rows),
  ];
}

export function heat(width, data) {
  const box = frame(width, data);
  const [low, high] = range(data.prices);
  const [wide, tall] = [box.across / box.columns, box.down / box.rows];
  const paint = (price) => (high > low ? { fill: colour((price - low) / (high - low)) } : { class: "cell-flat" });
  const cell = (price, column, row) => {
    const [x, y] = [box.left + column * wide, box.top + box.down - (row + 1) * tall];
    return s("rect", { x, y, width: wide + 0.4, height: tall + 0.4, ...paint(price) });
  };
  return s(
    "svg",
    { width, height: box.height, "aria-hidden": "true" },
    hatch(),
    s("g", { class: "cells" }, data.prices.map((line, row) => line.map((price, column) => cell(price, column, row)))),
    data.flat && s("rect", { x: box.left, y: box.top, width: box.across, height: box.down, fill: "url(#hatch)" }),
    axisX(box, data.x),
    axisY(box, data.y),
    cursor(),
  );
}

export function line(width, data, show) {
  const box = frame(width, data);
  const [low, high] = range(data.prices);
  const margin = Math.max((high - low) * 0.15, high * 0.04, 1e-9);
  const y = linear(low - margin, high + margin, box.top + box.down, box.top);
  const points = data.prices[0].map((price, index) => [box.middleX(index), y(price)]);
  return s(
    "svg",
    { width, height: box.height, "aria-hidden": "true" },
    ticks(low - margin, high + margin, 4).map((price) => level(y(price), box.left, box.left + box.across, show(price))),
    s("path", { class: "curve", d: path(points) }),
    points.map(([px, py]) => s("circle", { class: "dot-small", cx: px, cy: py, r: 2 })),
    axisX(box, data.x),
    s("line", { class: "cursor-line", y1: box.top, y2: box.top + box.down }),
    s("circle", { class: "cursor-dot", r: 6 }),
  );
}

export function placeCursor(drawing, width, data, [column, row]) {
  const box = frame(width, data);
  const put = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
  if (data.y) {
    const [wide, tall] = [box.across / box.columns, box.down / box.rows];
    const [x, y] = [box.left + column * wide, box.top + box.down - (row + 1) * tall];
    const around = { x: x - 1, y: y - 1, width: wide + 2, height: tall + 2 };
    for (const each of drawing.querySelectorAll(".cursor rect")) put(each, around);
  } else {
    const x = box.middleX(column);
    const dot = drawing.querySelectorAll(".dot-small")[column];
    put(drawing.querySelector(".cursor-line"), { x1: x, x2: x });
    put(drawing.querySelector(".cursor-dot"), { cx: x, cy: dot.getAttribute("cy") });
  }
}

export function legend(width, data, show) {
  const [low, high] = range(data.prices);
  const bar = Math.min(220, width * 0.5);
  return s(
    "svg",
    { width, height: 20, "aria-hidden": "true" },
    s("text", { x: 0, y: 14 }, show(low)),
    high > low && s("g", { transform: `translate(${show(low).length * 7 + 6} 3)` }, colourBar(bar, 13)),
    high > low && s("text", { x: show(low).length * 7 + bar + 14, y: 14 }, show(high)),
  );
}

export function range(prices) {
  const all = prices.flat();
  return [Math.min(...all), Math.max(...all)];
}

const cursor = () =>
  s("g", { class: "cursor" }, s("rect", { class: "cursor-outer", rx: 2 }), s("rect", { class: "cursor-inner", rx: 2 }));

function hatch() {
  const lines = s("path", { class: "hatch-line", d: "M-2 2l4 -4M0 10l10 -10M8 12l4 -4" });
  return s("defs", null, s("pattern", { id: "hatch", width: 10, height: 10, patternUnits: "userSpaceOnUse" }, lines));
}

const isNumeric = (values) => typeof values[0] === "number" && values.length > 1;
const axisTexts = (values) => (isNumeric(values) ? ticks(values[0], values.at(-1), 5) : values).map(featureValue);

// Where on an axis to write what: round numbers, or every level.
function marks(values, middle, wanted) {
  if (!isNumeric(values)) return values.map((value, index) => [middle(index), featureValue(value)]);
  const [first, last] = [values[0], values.at(-1)];
  const at = linear(first, last, middle(0), middle(values.length - 1));
  return ticks(first, last, wanted).map((value) => [at(value), featureValue(value)]);
}

const cut = (text, room) =>
  text.length * LETTER > room ? `${text.slice(0, Math.max(2, Math.floor(room / LETTER) - 1))}…` : text;

function axisX(box, x) {
  const base = box.top + box.down;
  const room = isNumeric(x.values) ? Infinity : box.across / box.columns - 4;
  const listed = marks(x.values, box.middleX, box.across / 70);
  const texts = listed.map(([at, text]) => tickBelow(at, base, cut(text, room)));
  return s("g", null, texts, axisTitle(box.left + box.across / 2, base + 35, x.name));
}

function axisY(box, y) {
  const middle = box.top + box.down / 2;
  const listed = marks(y.values, box.middleY, box.down / 50);
  const tick = ([at, text]) => level(at, box.left, box.left - 4, cut(text, box.left - 26));
  const title = s("g", { transform: `translate(11 ${middle}) rotate(-90)` }, axisTitle(0, 0, y.name));
  return s("g", null, listed.map(tick), title);
}
