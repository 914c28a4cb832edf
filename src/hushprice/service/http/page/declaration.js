// From what a shop says in the form to the body of a product.

export class Unclear extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

// A line an attribute: "age: 18 to 90", "region: city, country", "member: yes or no".
export function attributes(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return lines.map((line) => {
    const colon = line.indexOf(":");
    const [name, values] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    if (colon < 1 || !name || !values) {
      throw new Unclear("schema", `Write “name: values” on a line, such as “age: 18 to 90”; got “${line}”.`);
    }
    if (/^yes\s*(or|\/|,)\s*no$/i.test(values)) return { kind: "boolean", name };
    const range = /^(-?[\d.]+)\s*(?:to|–|\.\.)\s*(-?[\d.]+)$/.exec(values);
    if (range) return { kind: "number", name, low: Number(range[1]), high: Number(range[2]) };
    const levels = values.split(",").map((each) => each.trim()).filter(Boolean);
    if (levels.length < 2) throw new Unclear("schema", `“${name}” needs two values or more, with commas between them.`);
    return { kind: "category", name, levels };
  });
}

// A line an aggregator: "https://one.example Z2V0IGl0IGZyb20=".
export function aggregators(text) {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+/)).filter((parts) => parts[0]);
  if (lines.length === 2 && lines.every((parts) => parts.length === 2)) return lines.map(([url, key]) => ({ url, key }));
  throw new Unclear("aggregators", "Write two lines, an address and its key on each, with a space between them.");
}

// "1.5", or a range "1 to 3" or "1-3"; a sign stays, for the service to refuse.
export function elasticity(text) {
  const parts = text.trim().split(/\s*(?:to|–|(?<=[\d.]\s*)-)\s*/).map(number("elasticity"));
  if (parts.length > 2) throw new Unclear("elasticity", "Give one number, or two such as “1 to 3”.");
  return parts.length === 2 ? parts : parts[0];
}

// The content of a file that hushprice fit wrote.
export function fitted(text) {
  try {
    const content = JSON.parse(text);
    if (content?.prior) return content;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Unclear("prior", "Paste the whole content of the file that hushprice fit wrote.");
}

export function productName(text) {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(text)) return text;
  throw new Unclear("name", "Use a-z, 0-9, - and _ in the name, such as coffee-grinder.");
}

export const number = (field) => (text) => {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Unclear(field, "Give a number, such as 15.99.");
  return value;
};

// In percent as people say it, a share as the service takes it; without a float's last digits.
export const share = (field) => (text) => Number((number(field)(text) / 100).toPrecision(12));

// The body, from the texts of the form by field; what is left empty keeps its default.
export function declaration(texts, fields) {
  const body = {};
  for (const { name, read, needed, title } of fields) {
    const text = (texts[name] ?? "").trim();
    if (text) body[name] = read(text);
    else if (needed) throw new Unclear(name, `${title} is missing.`);
  }
  if (body.schema?.length) body.schema = { attributes: body.schema };
  else {
    delete body.schema;
    body.contexts = 0;
  }
  return body;
}
