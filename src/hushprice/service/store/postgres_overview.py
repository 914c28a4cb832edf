"""What is asked of all products of a PostgreSQL database at once, in one statement each."""

from __future__ import annotations

import msgspec

from hushprice.service.store.values import KeyCount, ProductHead

_LAST = """LATERAL (SELECT * FROM hushprice.release WHERE release.product = product.id
    ORDER BY sequence DESC LIMIT 1) AS last ON true"""
HEADS = f"""SELECT coalesce(json_agg(json_build_array(product.id, name, slots, json_build_array(
        created, skipped_releases, changed.number, changed.at,
        sequence, records, last.at, encode(substring(numbers FOR 64), 'hex'))) ORDER BY product.id), '[]')::text
    FROM hushprice.product LEFT JOIN {_LAST},
    LATERAL (SELECT count(*) AS number, max(at) AS at FROM hushprice.change
        WHERE change.product = product.id) AS changed"""
LATEST = f"""SELECT name, sequence, version, kind, records, batch, numbers, belief, at
    FROM hushprice.product JOIN {_LAST} WHERE name = ANY (%s)"""
HISTORY = """SELECT sequence, version, kind, records, at FROM hushprice.release
    WHERE product = (SELECT id FROM hushprice.product WHERE name = %s) ORDER BY sequence"""
# The slot after those learned and skipped, which is due where the clock has reached its deadline.
TO_LEARN = """SELECT name FROM hushprice.product LEFT JOIN hushprice.learner ON learner.product = product.id
    CROSS JOIN hushprice.clock, LATERAL (SELECT greatest(coalesce(learned, 0), skipped_slots) AS slot) AS done
    WHERE name IN (SELECT product FROM hushprice.seen WHERE NOT skipped)
    OR skipped_releases > coalesce(sequence, 0)
    OR (slots > done.slot AND (SELECT deadline FROM hushprice.quote WHERE quote.product = product.id
        AND quote.slot = done.slot + 1) <= service)
    OR (retired IS NOT NULL AND slots <= done.slot AND NOT coalesce(ended, false)) ORDER BY product.id"""
LAST_CHANGE = """SELECT coalesce((SELECT max(id) FROM hushprice.product), 0),
    coalesce((SELECT max(id) FROM hushprice.change), 0)"""
UNCERTIFIED = f"""SELECT name, basis_now FROM (
        SELECT id, name, %s || (SELECT count(*) FROM hushprice.change WHERE change.product = product.id) || ' changes, '
            || coalesce('version ' || version, 'no release') AS basis_now
        FROM hushprice.product LEFT JOIN {_LAST}
    ) AS wanted LEFT JOIN hushprice.certified ON certified.product = wanted.id
    WHERE basis IS DISTINCT FROM basis_now ORDER BY id"""
KEY_COUNTS = """SELECT coalesce(json_agg(json_build_array(name, key, quoted)), '[]')::text
    FROM (SELECT product, key, sum(quotes) AS quoted FROM hushprice.key_use WHERE day BETWEEN %s AND %s
        GROUP BY product, key) AS used JOIN hushprice.product ON product.id = used.product"""
OLDEST = """SELECT name, oldest.day FROM hushprice.product, LATERAL (SELECT day FROM hushprice.quote
    WHERE quote.product = product.id ORDER BY slot LIMIT 1) AS oldest ORDER BY product.id"""
BY_KEY = """SELECT key, count(*) FROM hushprice.quote
    WHERE product = (SELECT id FROM hushprice.product WHERE name = %s) AND slot > %s AND slot <= %s GROUP BY key"""

heads = msgspec.json.Decoder(list[ProductHead]).decode
key_counts = msgspec.json.Decoder(list[KeyCount]).decode
