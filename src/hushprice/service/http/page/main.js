// The page: asks every two seconds, hands the answers to the cards, says so when nobody answers.

import * as api from "./api.js";
import { createDeclare } from "./declare.js";
import { createDemand } from "./demand.js";
import { byId, memo, setText, show } from "./dom.js";
import { drawEmpty, drawLocked } from "./empty.js";
import { createFit } from "./fit.js";
import { clock } from "./format.js";
import { createHealth } from "./health.js";
import { createHistory } from "./history.js";
import { drawLegend } from "./labels.js";
import { createOperator } from "./operator.js";
import { createPriceMap } from "./pricemap.js";
import { createPrivacy } from "./privacy.js";
import { createSignIn, drawAccount } from "./signin.js";
import { createSummary } from "./summary.js";
import { createTimeline } from "./timeline.js";

const EVERY = 2000; // ms
const SLOWEST = 10000; // ms between attempts while nobody answers
const VIEWS = ["loading", "locked", "empty", "product-view"];

const demand = createDemand();
const cards = [
  createSummary(),
  createPrivacy(),
  createHealth(),
  createFit(),
  createTimeline(),
  demand.update,
  createPriceMap(demand.follow),
  createHistory(),
  createOperator(),
];
const signIn = createSignIn(keyChanged);
const offerDeclaring = createDeclare(choose);
const chooser = byId("product");
let timer;
let turn = 0; // answers to an earlier turn are dropped: the product or the key has changed since
let failures = 0;
let seen = null; // when the last answer came
let refusedFor = null; // the key that does not open the raw figures: they are not asked for again

drawLegend();
drawEmpty();
drawLocked(signIn.open);
chooser.addEventListener("change", () => {
  history.replaceState(null, "", `#${encodeURIComponent(chooser.value)}`);
  start();
});
window.addEventListener("hashchange", () => {
  const wanted = named();
  if (chooser.value === wanted) return;
  if ([...chooser.options].some((each) => each.value === wanted)) chooser.value = wanted;
  start(); // one that was just made is in the next list
});
byId("retry").addEventListener("click", start);
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : start()));
start();

function start() {
  turn += 1;
  clearTimeout(timer);
  poll(turn);
}

// A product that was just made: shown as soon as it is listed.
function choose(name) {
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  chooser.replaceChildren(new Option(name));
  start();
}

function keyChanged() {
  refusedFor = null;
  notice("");
  drawAccount(api.session.key ? "signed in" : null);
  cards.at(-1)({ figures: null }); // raw figures leave the page at once
  start();
}

async function poll(mine) {
  try {
    const state = await gather();
    if (mine !== turn) return;
    render(state);
    failures = 0;
    seen = new Date();
    live("good", "live", ` · ${clock(seen)}`);
    show(byId("away"), false);
  } catch (error) {
    if (mine !== turn) return;
    failed(error);
  }
  const wait = Math.min(SLOWEST, EVERY * 2 ** Math.max(0, failures - 1));
  if (byId("locked").hidden && !document.hidden) timer = setTimeout(() => poll(mine), wait);
}

async function gather() {
  const [listed, ready] = await Promise.all([api.products(), api.ready(), offerDeclaring(api.session.key)]);
  offer(listed.map((each) => each.name));
  const product = listed.find((each) => each.name === chooser.value);
  if (!product) return { ready };
  const { name } = product;
  const together = listed.length > 1 ? api.allPrivacy() : null;
  const told = product.policy === "cautious" ? api.health(name) : null;
  const answers = await Promise.all([api.privacy(name), api.report(name), told, together, operatorFigures(name)]);
  const [privacy, report, health, all, figures] = answers;
  return { ready, product, privacy, report, health, all, figures };
}

async function operatorFigures(name) {
  const { key } = api.session;
  if (!key || refusedFor === key) return null;
  try {
    const why = await api.whyNoFigures(key);
    if (!why) {
      const [figures, activity] = await Promise.all([api.figures(name), api.activity()]);
      return { ...figures, activity };
    }
    notice(why);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    notice(error.message);
  }
  refusedFor = key;
  return null;
}

function render(state) {
  view(state.product ? "product-view" : "empty");
  show(byId("chooser"), Boolean(state.product));
  drawAccount(api.session.key ? (state.figures ? "operator" : "signed in") : null);
  document.title = state.product ? `${state.product.name} · hushprice` : "hushprice";
  if (state.product) for (const update of cards) update(state);
}

function failed(error) {
  if (error instanceof api.Refused && [401, 403].includes(error.status)) {
    const had = Boolean(api.session.key);
    api.session.key = null;
    drawAccount(null);
    view("locked");
    live("wait", "sign in to see");
    notice(had ? "The key is not accepted any more: sign in again." : "");
    return;
  }
  failures += 1;
  live("bad", "no answer");
  const shown = seen ? `Shown is the state of ${clock(seen)}.` : "";
  const known = error instanceof api.Away || error instanceof api.Refused;
  if (!known) console.error(error);
  const trouble = error instanceof api.Away ? error.message : `The answer could not be shown: ${error.message}`;
  setText(byId("away-text"), `${trouble} ${shown} Trying again on its own.`);
  show(byId("away"), true);
}

const offer = memo((names) => {
  const wanted = names.includes(named()) ? named() : chooser.value;
  chooser.replaceChildren(...names.map((each) => new Option(each)));
  if (names.includes(wanted)) chooser.value = wanted;
});

// The product in the address; what nobody could have written there names none.
function named() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

function view(id) {
  for (const each of VIEWS) show(byId(each), each === id);
}

function live(state, text, since = "") {
  byId("live").dataset.state = state;
  setText(byId("live-text"), text);
  setText(byId("live-since"), since);
}

function notice(text) {
  setText(byId("notice-text"), text);
  show(byId("notice"), text !== "");
}
