// The service's answers. Paths are relative, so the page also works behind a proxy that adds a prefix.

const KEY = "hushprice-key";
const TIMEOUT = 5000; // ms

export class Refused extends Error {
  constructor(status, message, field) {
    super(message);
    this.status = status;
    this.field = field; // of what was sent
  }
}

export class Away extends Error {}

// Of this tab only: sessionStorage ends with it, and no cookie goes along with other requests.
export const session = {
  get key() {
    return sessionStorage.getItem(KEY);
  },
  set key(value) {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  },
};

export async function ask(path, { key = session.key, accept = [], body: sent } = {}) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const post = sent === undefined ? {} : { method: "POST", body: JSON.stringify(sent) };
  let response;
  try {
    response = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT), ...post });
  } catch {
    throw new Away("The service does not answer.");
  }
  const body = await response.json().catch(() => null);
  if (response.ok || accept.includes(response.status)) return body;
  if (response.status === 502 || response.status === 504) throw new Away("The service does not answer.");
  const message = body?.error?.message ?? `The service answered ${response.status}.`;
  throw new Refused(response.status, message, body?.error?.field);
}

const of = (name, part) => `v1/products/${encodeURIComponent(name)}/${part}`;

export const products = async (options) => {
  const body = await ask("v1/products", options);
  return Array.isArray(body) ? body : body.products;
};
export const allPrivacy = (options) => ask("v1/privacy", options);
export const privacy = (name) => ask(of(name, "privacy"));
export const report = (name) => ask(of(name, "report"));
export const health = (name) => ask(of(name, "health"));
export const ready = () => ask("readyz", { accept: [503] });
export const figures = (name) => ask(`v1/operator/products/${encodeURIComponent(name)}/figures`);
export const activity = () => ask("v1/operator/activity");
let described; // asked once: a port does not become another

// Asking for what is refused would only fill the log, so the page looks first: a key tells its role in front, and the
// description of a port tells whether it is the operator's. The service checks both itself.
export async function whyNoFigures(key) {
  if (/^hp_(auditor|shop)_/.test(key)) return "Signed in. Raw figures need an admin key.";
  const operatorPort = Object.keys(await paths()).some((path) => path.startsWith("/v1/operator/"));
  return operatorPort ? null : "Signed in. Raw figures are on the operator's port only.";
}

async function paths() {
  described ??= (await ask("openapi.json")).paths ?? {};
  return described;
}

// Only the public port takes products, and only from an admin.
export const mayDeclare = async (key) =>
  !/^hp_(auditor|shop)_/.test(key) && Boolean((await paths())["/v1/products"]?.post);
export const declare = (product) => ask("v1/products", { body: product });

export const certificatePath = (name) => of(name, "certificate");

export function prices(name, x, y, steps = 24) {
  const query = new URLSearchParams({ x, steps: String(steps) });
  if (y) query.set("y", y);
  return ask(`${of(name, "prices")}?${query}`);
}

export const demand = (name, point) => ask(`${of(name, "demand")}?${new URLSearchParams(point)}`);
