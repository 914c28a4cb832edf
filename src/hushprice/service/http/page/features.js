// What a product knows of its customers, as declared: the axes of the price map.

export function features(product) {
  if (product.schema) return product.schema.attributes;
  const plain = (_, index) => ({ kind: "number", name: `x${index + 1}`, low: -1, high: 1 });
  return Array.from({ length: product.contexts ?? 0 }, plain);
}
