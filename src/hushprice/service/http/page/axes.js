// Parts that every drawing has: ticks, grid lines, and the samples beside its key.

import { s } from "./dom.js";

// A tick under the drawing whose lower edge is at `base`.
export const tickBelow = (x, base, text) =>
  s(
    "g",
    { class: "tick" },
    s("line", { x1: x, x2: x, y1: base, y2: base + 5 }),
    s("text", { x, y: base + 18, "text-anchor": "middle" }, text),
  );

// A line across the drawing, with its value on the left.
export const level = (y, left, right, text) =>
  s(
    "g",
    { class: "tick" },
    s("line", { class: "grid-line", x1: left, x2: right, y1: y, y2: y }),
    s("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, text),
  );

export const axisTitle = (x, y, text, anchor = "middle") =>
  s("text", { class: "axis-title", x, y, "text-anchor": anchor }, text);

export const upright = (x, top, bottom, name) => s("line", { class: name, x1: x, x2: x, y1: top, y2: bottom });

// An entry of a key: a stroke of the class, and what it stands for.
export function keyEntry(name, text) {
  const stroke = s("line", { class: name, x1: 0, x2: 18, y1: 7, y2: 7 });
  const span = document.createElement("span");
  span.append(s("svg", { width: 18, height: 14, "aria-hidden": "true" }, stroke), text);
  return span;
}
