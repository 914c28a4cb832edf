-- Version 2.

-- By which history a release was seen in: see lost_releases.py.
ALTER TABLE hushprice.seen ADD COLUMN overlapping bigint NOT NULL DEFAULT 0, ADD COLUMN trail bytea NOT NULL DEFAULT '';

-- Quotes that were kept for as long as the product declares: the highest slot of those erased, and how many they are.
ALTER TABLE hushprice.product
    ADD COLUMN erased_slots bigint NOT NULL DEFAULT 0, ADD COLUMN erased_quotes bigint NOT NULL DEFAULT 0;
