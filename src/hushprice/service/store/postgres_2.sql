-- Version 2.

-- What the learner says of its work whenever it renews its lease.
ALTER TABLE hushprice.lease ADD COLUMN since_look float8 NOT NULL DEFAULT 0.0,    -- seconds since it saw all products
    ADD COLUMN set_aside integer NOT NULL DEFAULT 0;                              -- products that failed

-- Keys that expire, are for some products, or have a daily quota; and who did what by hand.

ALTER TABLE hushprice.api_key
    ADD COLUMN expires float8,                          -- wall-clock; NULL: never
    ADD COLUMN products text NOT NULL DEFAULT '[]',     -- JSON; none named: all
    ADD COLUMN quota bigint;                            -- quotes a day; NULL: any number

-- By the day and by quotes: nothing here moves with an outcome.
CREATE TABLE hushprice.key_use (
    key text NOT NULL,                    -- its identity, as in quote
    day integer NOT NULL,                 -- since 1970, UTC
    product integer NOT NULL,             -- 0: it was used for something else. Who writes a row has locked its product
    quotes bigint NOT NULL,
    PRIMARY KEY (day, product, key)
) WITH (fillfactor = 20);
INSERT INTO hushprice.key_use SELECT key, day, product, count(*) FROM hushprice.quote GROUP BY key, day, product;

-- Rows are added and never changed: certificates sign a digest of them in this order.
CREATE TABLE hushprice.trail (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at float8 NOT NULL,
    actor text NOT NULL,
    what text NOT NULL,
    about text NOT NULL,                  -- a product or a key, by name
    detail text NOT NULL,
    nonce bytea NOT NULL DEFAULT uuid_send(gen_random_uuid())   -- so that nobody can guess a row from the digest
);

-- They have one argument more now: who did it.
DROP FUNCTION IF EXISTS hushprice.add_product(text, bytea, bytea, float8);
DROP FUNCTION IF EXISTS hushprice.set_status(text, text, float8);
DROP FUNCTION IF EXISTS hushprice.set_rules(text, bytea, text, float8);
DROP FUNCTION IF EXISTS hushprice.set_reference_price(text, float8, text, float8);
DROP FUNCTION IF EXISTS hushprice.forget(bytea);

-- By which history a release was seen in: see lost_releases.py.
ALTER TABLE hushprice.seen ADD COLUMN overlapping bigint NOT NULL DEFAULT 0, ADD COLUMN lineage bytea NOT NULL DEFAULT '';

-- Quotes that were kept for as long as the product declares: the highest slot of those erased, and how many they are.
ALTER TABLE hushprice.product
    ADD COLUMN erased_slots bigint NOT NULL DEFAULT 0, ADD COLUMN erased_quotes bigint NOT NULL DEFAULT 0;

ALTER TABLE hushprice.product ADD COLUMN retired float8;   -- wall-clock, from when on nothing is quoted; NULL: it is not
ALTER TABLE hushprice.learner ADD COLUMN ended boolean NOT NULL DEFAULT false;    -- nothing more is learned

-- What the newest certificate of a product came after: where nothing of it has changed, none is due.
CREATE TABLE hushprice.certified (product integer PRIMARY KEY REFERENCES hushprice.product, basis text NOT NULL);
