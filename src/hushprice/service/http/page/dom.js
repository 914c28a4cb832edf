// Elements without markup strings: every text goes in as text, so nothing a server says can become code.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);

// Touching a node only when its text changes keeps selections and spares screen readers the repetition.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, visible) {
  if (element.hidden === visible) element.hidden = !visible;
}

// Runs `draw` when what it depends on has changed, and not on every poll.
export function memo(draw) {
  let last;
  return (...inputs) => {
    const key = JSON.stringify(inputs);
    if (key === last) return;
    last = key;
    draw(...inputs);
  };
}

// A drawing that knows its width in pixels, so that its letters keep their size on a phone.
export function chart(holder, draw) {
  let width = 0;
  let data;
  const redraw = () => {
    if (width > 0 && data !== undefined) draw(width, data);
  };
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width) return;
    width = now;
    redraw();
  }).observe(holder);
  const changed = memo(redraw);
  return (next) => {
    data = next;
    changed(next);
  };
}
