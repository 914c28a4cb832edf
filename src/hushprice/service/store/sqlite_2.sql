-- Version 2.

-- What the learner says of its work whenever it renews its lease.
ALTER TABLE lease ADD COLUMN since_look REAL NOT NULL DEFAULT 0.0;    -- seconds since it had looked at all products
ALTER TABLE lease ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0;    -- products that failed

-- Keys that expire, are for some products, or have a daily quota; and who did what by hand.

ALTER TABLE api_key ADD COLUMN expires REAL;                        -- wall-clock; NULL: never
ALTER TABLE api_key ADD COLUMN products TEXT NOT NULL DEFAULT '[]'; -- JSON; none named: all
ALTER TABLE api_key ADD COLUMN quota INTEGER;                       -- quotes a day; NULL: any number

-- By the day and by quotes: nothing here moves with an outcome.
CREATE TABLE key_use (
    key TEXT NOT NULL,                    -- its identity, as in quote
    day INTEGER NOT NULL,                 -- since 1970, UTC
    product INTEGER NOT NULL,             -- 0: it was used for something else
    quotes INTEGER NOT NULL,
    PRIMARY KEY (day, product, key)
) STRICT, WITHOUT ROWID;
INSERT INTO key_use SELECT key, day, product, count(*) FROM quote GROUP BY key, day, product;

-- Rows are added and never changed: certificates sign a digest of them in this order.
CREATE TABLE trail (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    what TEXT NOT NULL,
    about TEXT NOT NULL,                  -- a product or a key, by name
    detail TEXT NOT NULL,
    nonce BLOB NOT NULL DEFAULT (randomblob(16))    -- so that nobody can guess a row from the digest
) STRICT;

-- By which history a release was seen in: see lost_releases.py.
ALTER TABLE seen ADD COLUMN overlapping INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seen ADD COLUMN lineage BLOB NOT NULL DEFAULT x'';

-- Quotes that were kept for as long as the product declares: the highest slot of those erased, and how many they are.
ALTER TABLE product ADD COLUMN erased_slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE product ADD COLUMN erased_quotes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE product ADD COLUMN retired REAL;    -- wall-clock, from when on nothing is quoted; NULL: it is not retired

ALTER TABLE learner ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;    -- nothing is learned of it any more

-- What the newest certificate of a product came after: where nothing of it has changed, none is due.
CREATE TABLE certified (product INTEGER PRIMARY KEY REFERENCES product, basis TEXT NOT NULL) STRICT;
