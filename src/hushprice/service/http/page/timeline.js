// Releases along the slots: what was published when, and when the next one is due.

import { axisTitle, tickBelow } from "./axes.js";
import { byId, chart, h, s, setText } from "./dom.js";
import { count, moment, short } from "./format.js";
import { heading, tag } from "./labels.js";
import { logarithmic, logTicks } from "./scale.js";

const HEIGHT = 128;
const AXIS = 92;
const TOP = 22;

export function createTimeline() {
  const holder = h(
    "div",
    { class: "plot", role: "group", "aria-label": "Releases by slot. Arrow keys go from one to the next." },
  );
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const keys = h("p", { class: "key" },
    h("span", null, sample("score"), " score or moments: moves the prices, number is the version"),
    h("span", null, sample("look"), " curvature look: how sure the belief is"),
    h("span", null, sample("next"), " next release"),
  );
  let chosen = null;
  let releases = [];

  const choose = (sequence, focus) => {
    chosen = sequence;
    for (const mark of holder.querySelectorAll("[data-sequence]")) {
      const here = Number(mark.dataset.sequence) === sequence;
      mark.classList.toggle("chosen", here);
      mark.setAttribute("tabindex", here ? "0" : "-1");
      if (here && focus) mark.focus();
    }
    const release = releases.find((each) => each.sequence === sequence);
    if (release) setText(readout, sentence(release));
  };
  const draw = chart(holder, (width, data) => {
    const focused = holder.contains(document.activeElement);
    releases = data.releases;
    if (!releases.some((each) => each.sequence === chosen)) chosen = releases.at(-1)?.sequence ?? null;
    holder.replaceChildren(drawing(width, data, choose));
    choose(chosen, focused);
    if (!releases.length) setText(readout, nothing(data));
  });
  holder.addEventListener("keydown", (event) => {
    const at = releases.findIndex((each) => each.sequence === chosen);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: releases.length - 1 }[event.key];
    if (to === undefined || !releases[to]) return;
    event.preventDefault();
    choose(releases[to].sequence, true);
  });

  byId("timeline").append(heading("timeline-title", "Releases on a time line", tag("noised")), holder, readout, keys);

  return ({ privacy, report }) => {
    const brief = (report.releases ?? []).map(
      ({ sequence, version, kind, records, at }) => ({ sequence, version, kind, records, at }),
    );
    const next = privacy.next_release_after_slot ?? null;
    draw({ releases: brief, next, quotes: privacy.quotes, learned: privacy.learned, ended: privacy.learning_ended });
  };
}

function sentence({ sequence, kind, version, records, at }) {
  const what = kind === "curvature" ? kind : `${kind}: version ${version}`;
  return `Release ${sequence}, ${what}, after ${count(records)} slots, ${moment(at)}.`;
}

function nothing({ next, quotes }) {
  if (next === null) return "No release was made and none will come.";
  const due = `The first comes when the deadline of slot ${count(next)} has passed`;
  return `No release yet. ${due}; ${count(quotes)} quotes are given so far.`;
}

function sample(kind) {
  const marks = {
    score: s("circle", { class: "mark-score", cx: 8, cy: 7, r: 5 }),
    look: s("line", { class: "mark-look", x1: 8, x2: 8, y1: 1, y2: 13 }),
    next: s("path", { class: "mark-next", d: "M8 1v12" }),
  };
  return s("svg", { width: 16, height: 14, "aria-hidden": "true" }, marks[kind]);
}

function drawing(width, data, choose) {
  const slots = data.releases.map((each) => each.records);
  const low = Math.max(1, Math.min(slots[0] ?? data.next ?? 10, data.next ?? Infinity, Math.max(1, data.quotes)) / 1.6);
  const high = Math.max(data.quotes, data.next ?? 1, slots.at(-1) ?? 1, 2 * low) * 1.08;
  const x = logarithmic(low, high, 14, width - 26);
  const axis = logTicks(low, high, width / 56).map((slot) => tickBelow(x(slot), AXIS, short(slot)));
  const band = (from, to, name) =>
    s("rect", { class: name, x: from, y: AXIS - 5, width: Math.max(0, to - from), height: 5 });
  return s(
    "svg",
    { width, height: HEIGHT },
    band(x(low), x(data.quotes), "track-quoted"),
    data.learned > 0 && band(x(low), x(data.learned), "track-learned"),
    s("line", { class: "axis", x1: 8, x2: width - 8, y1: AXIS, y2: AXIS }),
    axis,
    axisTitle(width - 8, HEIGHT - 2, "slots (quotes, in order), logarithmic", "end"),
    data.next !== null && nextMark(x(data.next), data.next, width),
    marks(data.releases, x, choose),
  );
}

function nextMark(x, slot, width) {
  const end = x > width - 90;
  const anchor = end ? "end" : "start";
  return s(
    "g",
    { class: "next" },
    s("path", { class: "mark-next", d: `M${x} ${TOP - 8}V${AXIS}` }),
    s("text", { x: end ? x - 6 : x + 6, y: TOP - 8, "text-anchor": anchor }, `next after ${count(slot)}`),
  );
}

function marks(releases, x, choose) {
  let labelled = -Infinity; // where the last version was written: two would overlap
  return releases.map((each) => {
    const at = x(each.records);
    const room = each.kind !== "curvature" && at - labelled >= 17;
    if (room) labelled = at;
    const shapes = each.kind !== "curvature" ? scoreMark(at, room ? each.version : null) : [lookMark(at)];
    const node = { class: "release", role: "img", "aria-label": sentence(each), "data-sequence": each.sequence };
    const reacts = { onclick: () => choose(each.sequence, true), onpointerenter: () => choose(each.sequence, false) };
    const hit = s("rect", { class: "hit", x: at - 4, y: TOP + 6, width: 8, height: AXIS - TOP - 4 });
    return s("g", { ...node, tabindex: -1, ...reacts }, hit, shapes);
  });
}

const lookMark = (at) => s("line", { class: "mark-look", x1: at, x2: at, y1: AXIS - 26, y2: AXIS - 7 });

const scoreMark = (at, version) => [
  s("line", { class: "stem", x1: at, x2: at, y1: TOP + 22, y2: AXIS - 5 }),
  s("circle", { class: "mark-score", cx: at, cy: TOP + 22, r: 5.5 }),
  version !== null && s("text", { class: "version", x: at, y: TOP + 11, "text-anchor": "middle" }, version),
];
