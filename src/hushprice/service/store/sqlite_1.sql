-- Version 1. Places are rows of one table (product, slot), so that slots are read in order without another index.

CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    service REAL NOT NULL,
    beat REAL,      -- wall-clock of the last beat
    behind REAL     -- wall-clock of the first beat before that one, since the clock moved last
) STRICT;
INSERT INTO clock VALUES (1, 0.0, NULL, NULL);

CREATE TABLE lease (one INTEGER PRIMARY KEY CHECK (one = 1), holder TEXT, until REAL NOT NULL) STRICT;
INSERT INTO lease VALUES (1, NULL, 0.0);

CREATE TABLE api_key (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('shop', 'auditor', 'admin')),
    digest BLOB NOT NULL
) STRICT;

CREATE TABLE product (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec BLOB NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'frozen')),
    rules BLOB NOT NULL,
    reference_price REAL,
    slots INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    skipped_slots INTEGER NOT NULL DEFAULT 0,     -- charged before a backup was restored
    skipped_releases INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE change (
    id INTEGER PRIMARY KEY,
    product INTEGER NOT NULL REFERENCES product,
    at REAL NOT NULL,
    what TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX change_product ON change (product, id);

-- What stays of a quote: small, because what was learned has left `record`.
CREATE TABLE quote (
    product INTEGER NOT NULL REFERENCES product,
    slot INTEGER NOT NULL,
    id BLOB NOT NULL,
    key TEXT NOT NULL,
    price REAL NOT NULL,
    holdout INTEGER NOT NULL,
    counts INTEGER NOT NULL,
    deadline REAL NOT NULL,               -- by the service's clock
    day INTEGER NOT NULL,                 -- since 1970, UTC
    status INTEGER NOT NULL DEFAULT 0,    -- 0 waiting, 1 recorded, 2 late, 3 forgotten
    demand REAL,
    customer BLOB,
    idempotency BLOB,                     -- the rest only where it is there: it repeats the answer
    fingerprint BLOB,
    charged TEXT,
    expires REAL,
    version INTEGER,
    PRIMARY KEY (product, slot)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX quote_id ON quote (id);
CREATE UNIQUE INDEX quote_idempotency ON quote (key, idempotency) WHERE idempotency IS NOT NULL;
CREATE INDEX quote_customer ON quote (customer, product, counts) WHERE customer IS NOT NULL;

-- What a learner needs once.
CREATE TABLE record (
    product INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    context BLOB NOT NULL,
    PRIMARY KEY (product, slot)
) STRICT, WITHOUT ROWID;

-- Records that a forgotten customer may have in releases: who comes back gets no second cap.
CREATE TABLE used_cap (
    customer BLOB NOT NULL,
    product INTEGER NOT NULL REFERENCES product,
    records INTEGER NOT NULL,
    PRIMARY KEY (customer, product)
) STRICT, WITHOUT ROWID;

CREATE TABLE release (
    product INTEGER NOT NULL REFERENCES product,
    sequence INTEGER NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('curvature', 'score')),
    records INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    numbers BLOB NOT NULL,
    belief BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (product, sequence)
) STRICT;

CREATE TABLE learner (
    product INTEGER PRIMARY KEY REFERENCES product,
    learned INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state BLOB NOT NULL,
    ledger BLOB NOT NULL
) STRICT;

CREATE TABLE certificate (product INTEGER PRIMARY KEY REFERENCES product, at REAL NOT NULL, body BLOB NOT NULL) STRICT;

-- Releases that somebody has seen and the store did not have. By name: a backup may be older than the product.
CREATE TABLE seen (
    product TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    digest BLOB NOT NULL,
    records INTEGER NOT NULL,
    restores INTEGER NOT NULL,
    skipped INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (product, sequence, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity (one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL) STRICT;
INSERT INTO identity VALUES (1, randomblob(16));

CREATE TABLE tally (
    product INTEGER NOT NULL REFERENCES product,
    day INTEGER NOT NULL,
    quoted INTEGER NOT NULL DEFAULT 0,
    bought INTEGER NOT NULL DEFAULT 0,
    declined INTEGER NOT NULL DEFAULT 0,
    expired INTEGER NOT NULL DEFAULT 0,
    repeated INTEGER NOT NULL DEFAULT 0,
    conflicting INTEGER NOT NULL DEFAULT 0,
    late INTEGER NOT NULL DEFAULT 0,
    over_cap INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0,
    holdout_quotes INTEGER NOT NULL DEFAULT 0,
    holdout_revenue REAL NOT NULL DEFAULT 0.0,
    personal_quotes INTEGER NOT NULL DEFAULT 0,
    personal_revenue REAL NOT NULL DEFAULT 0.0,
    holdout_squares REAL NOT NULL DEFAULT 0.0,
    personal_squares REAL NOT NULL DEFAULT 0.0,
    PRIMARY KEY (product, day)
) STRICT, WITHOUT ROWID;
