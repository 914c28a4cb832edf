// From values to pixels and to colours.

import { s } from "./dom.js";

export function linear(low, high, from, to) {
  const width = high - low || 1;
  return (value) => from + ((value - low) / width) * (to - from);
}

export const logarithmic = (low, high, from, to) => {
  const inner = linear(Math.log(low), Math.log(high), from, to);
  return (value) => inner(Math.log(Math.max(value, low)));
};

// Round numbers that cover [low, high], about `wanted` of them.
export function ticks(low, high, wanted) {
  const width = high - low;
  if (!(width > 0)) return [low];
  const rough = width / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const listed = [];
  for (let index = Math.ceil(low / step); index * step <= high + 1e-9 * step; index += 1) listed.push(index * step);
  return listed;
}

// The top of a drawing of demand: the curve itself must be seen, also where 2 % buy and the band is still wide.
export function roomFor(curve, band, most) {
  const wanted = Math.min(band, 3 * curve);
  const [step] = ticks(0, wanted, 4).slice(1);
  return step ? Math.min(most, step * Math.ceil(wanted / step - 1e-9)) : most;
}

// 1, 2, 5 times powers of ten in [low, high]; powers alone where those are many.
export function logTicks(low, high, wanted) {
  const listed = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const each of [1, 2, 5]) listed.push(each * 10 ** power);
  }
  const inside = listed.filter((each) => each >= low && each <= high);
  return inside.length > wanted ? inside.filter((each) => Number.isInteger(Math.log10(each))) : inside;
}

// One dark-to-light order, so that it reads without colour as well.
const RAMP = [[250, 240, 214], [240, 201, 132], [214, 140, 101], [150, 85, 110], [82, 52, 102], [34, 30, 66]];

export function colour(share) {
  const at = Math.min(1, Math.max(0, share)) * (RAMP.length - 1);
  const index = Math.min(Math.floor(at), RAMP.length - 2);
  const mixed = RAMP[index].map((low, channel) => Math.round(low + (at - index) * (RAMP[index + 1][channel] - low)));
  return `rgb(${mixed.join(" ")})`;
}

export function colourBar(width, height) {
  const cells = 48;
  const step = width / cells;
  const cell = (index) =>
    s("rect", { x: index * step, y: 0, width: step + 0.5, height, fill: colour(index / (cells - 1)) });
  return s("g", null, Array.from({ length: cells }, (_, index) => cell(index)));
}

export const path = (points) => points.map(
  ([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`,
).join("");
