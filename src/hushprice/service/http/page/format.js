// Numbers as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const NONE = "–";

export const count = (value) => (Number.isFinite(value) ? whole.format(value) : NONE);

export function short(value) {
  if (!Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1e6) return `${digits(value / 1e6, 3)} M`;
  return size >= 1e4 ? `${digits(value / 1e3, 3)} k` : count(value);
}

export function digits(value, most) {
  if (!Number.isFinite(value)) return NONE;
  return new Intl.NumberFormat("en", { maximumSignificantDigits: most }).format(value);
}

// An epsilon to three places; a small one that is not mere rounding to two digits.
export function epsilon(value) {
  if (!Number.isFinite(value)) return NONE;
  return value < 1e-6 || value >= 0.001 ? value.toFixed(3) : digits(value, 2);
}

// Small probabilities as powers of ten: 2 × 10⁻¹².
export function tiny(value) {
  if (!Number.isFinite(value)) return NONE;
  if (value === 0 || Math.abs(value) >= 1e-3) return digits(value, 3);
  const [mantissa, exponent] = value.toExponential(2).split("e");
  const raised = [...String(Number(exponent))].map((each) => RAISED[each] ?? "⁻").join("");
  return `${Number(mantissa)}\u00a0×\u00a010${raised}`;
}

export function money(value, currency, decimals = 2) {
  if (!Number.isFinite(value)) return NONE;
  const places = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return new Intl.NumberFormat("en", { style: "currency", currency, ...places }).format(value);
}

export function duration(value) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  const [size, unit] = units.find(([each]) => value >= each) ?? [1, "s"];
  return Number.isFinite(value) ? `${digits(value / size, 3)} ${unit}` : NONE;
}

export const percent = (share) => (Number.isFinite(share) ? `${digits(100 * share, 3)}\u00a0%` : NONE);

export function seconds(value) {
  if (!Number.isFinite(value)) return NONE;
  return value < 1 ? `${digits(1000 * value, 3)} ms` : `${digits(value, 3)} s`;
}

// Stores count seconds since 1970; an ISO text is taken as well.
export function instant(at) {
  const date = typeof at === "number" ? new Date(1000 * at) : new Date(at);
  return Number.isNaN(date.getTime()) ? null : date;
}

export function moment(at) {
  const date = instant(at);
  if (date === null) return NONE;
  const year = date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  return new Intl.DateTimeFormat(
    "en-GB",
    { day: "numeric", month: "short", ...year, hour: "2-digit", minute: "2-digit", second: "2-digit" },
  ).format(date);
}

export const clock = (date) => new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(date);

export const day = (date) =>
  new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }).format(date);

// A feature's value: a number, a level, or yes and no.
export function featureValue(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? digits(value, 3) : String(value);
}
