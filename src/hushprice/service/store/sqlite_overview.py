"""What is asked of all products of a SQLite file at once. One statement, one row: a thousand products cost little more
than one, and the interpreter's lock is not passed on at every row of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hushprice.service.store.values import KeyCount, ProductHead

_LAST = "(SELECT max(sequence) FROM release AS other WHERE other.product = product.id)"
HEADS = f"""SELECT json_group_array(json_array(product.id, name, slots, json_array(
        created, skipped_releases,
        (SELECT count(*) || ' ' || ifnull(max(change.at), '') FROM change WHERE change.product = product.id),
        sequence, records, release.at, hex(substr(numbers, 1, 64)))))
    FROM product LEFT JOIN release ON release.product = product.id AND sequence = {_LAST}"""
LATEST = f"""SELECT name, sequence, version, kind, records, batch, numbers, belief, at
    FROM product JOIN release ON release.product = product.id AND sequence = {_LAST}
    WHERE name IN (SELECT value FROM json_each(?))"""
HISTORY = """SELECT sequence, version, kind, records, at FROM release
    WHERE product = (SELECT id FROM product WHERE name = ?) ORDER BY sequence"""
# The slot after those learned and skipped, which is due where the clock has reached its deadline.
TO_LEARN = """SELECT json_group_array(name) FROM product
    LEFT JOIN learner ON learner.product = product.id CROSS JOIN clock
    WHERE name IN (SELECT product FROM seen WHERE skipped = 0)
    OR skipped_releases > ifnull(sequence, 0)
    OR (slots > max(ifnull(learned, 0), skipped_slots) AND (SELECT deadline FROM quote WHERE quote.product = product.id
        AND slot = max(ifnull(learned, 0), skipped_slots) + 1) <= service)
    OR (retired IS NOT NULL AND slots <= max(ifnull(learned, 0), skipped_slots) AND ifnull(ended, 0) = 0)"""
LAST_CHANGE = "SELECT ifnull((SELECT max(id) FROM product), 0), ifnull((SELECT max(id) FROM change), 0)"
UNCERTIFIED = """SELECT name, now FROM (
        SELECT id, name, ?1 || (SELECT count(*) FROM change WHERE change.product = product.id) || ' changes, '
            || ifnull('version ' || (SELECT version FROM release WHERE release.product = product.id
            ORDER BY sequence DESC LIMIT 1), 'no release') AS now FROM product
    ) AS wanted LEFT JOIN certified ON certified.product = wanted.id
    WHERE basis IS NOT now ORDER BY id"""
KEY_COUNTS = """SELECT json_group_array(json_array(name, key, quoted))
    FROM (SELECT product, key, sum(quotes) AS quoted FROM key_use WHERE day BETWEEN ? AND ? GROUP BY product, key)
    JOIN product ON product.id = product"""
OLDEST = """SELECT json_group_array(json_array(name, oldest)) FROM (SELECT name,
        (SELECT day FROM quote WHERE quote.product = product.id ORDER BY slot LIMIT 1) AS oldest FROM product
        ORDER BY id) WHERE oldest IS NOT NULL"""
BY_KEY = """SELECT key, count(*) FROM quote
    WHERE product = (SELECT id FROM product WHERE name = ?) AND slot > ? AND slot <= ? GROUP BY key"""

key_counts = msgspec.json.Decoder(list[KeyCount]).decode
oldest = msgspec.json.Decoder(list[tuple[str, int]]).decode
names = msgspec.json.Decoder(list[str]).decode
_heads = msgspec.json.Decoder(list[ProductHead]).decode


def heads(text: str) -> list[ProductHead]:
    """Products in the order they were made."""
    return sorted(_heads(text), key=lambda head: head.id)


def listed(names: Sequence[str] | None) -> str | None:
    """Names as one value of a statement."""
    return None if names is None else msgspec.json.encode(names).decode()
