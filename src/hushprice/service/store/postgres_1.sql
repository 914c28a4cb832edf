-- Version 1. The same tables as in SQLite; rows that change with every call leave room for their next version.

CREATE TABLE hushprice.clock (
    one integer PRIMARY KEY CHECK (one = 1),
    service float8 NOT NULL,
    beat float8,      -- wall-clock of the last beat
    behind float8     -- wall-clock of the first beat before that one, since the clock moved last
) WITH (fillfactor = 20);
INSERT INTO hushprice.clock VALUES (1, 0.0, NULL, NULL);

CREATE TABLE hushprice.lease (one integer PRIMARY KEY CHECK (one = 1), holder text, until float8 NOT NULL)
    WITH (fillfactor = 20);
INSERT INTO hushprice.lease VALUES (1, NULL, 0.0);

CREATE TABLE hushprice.api_key (
    name text PRIMARY KEY,
    role text NOT NULL CHECK (role IN ('shop', 'auditor', 'admin')),
    digest bytea NOT NULL
);

CREATE TABLE hushprice.product (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL UNIQUE,
    spec bytea NOT NULL,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'frozen')),
    rules bytea NOT NULL,
    reference_price float8,
    slots bigint NOT NULL DEFAULT 0,
    created float8 NOT NULL,
    skipped_slots bigint NOT NULL DEFAULT 0,      -- charged before a backup was restored
    skipped_releases bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

CREATE TABLE hushprice.change (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    product integer NOT NULL REFERENCES hushprice.product,
    at float8 NOT NULL,
    what text NOT NULL,
    detail text NOT NULL
);
CREATE INDEX change_product ON hushprice.change (product, id);

-- What stays of a quote: small, because what was learned has left `record`.
CREATE TABLE hushprice.quote (
    product integer NOT NULL REFERENCES hushprice.product,
    slot bigint NOT NULL,
    id bytea NOT NULL,
    key text NOT NULL,
    price float8 NOT NULL,
    holdout boolean NOT NULL,
    counts boolean NOT NULL,
    deadline float8 NOT NULL,              -- by the service's clock
    day integer NOT NULL,                  -- since 1970, UTC
    status smallint NOT NULL DEFAULT 0,    -- 0 waiting, 1 recorded, 2 late, 3 forgotten
    demand float8,
    customer bytea,
    idempotency bytea,                     -- the rest only where it is there: it repeats the answer
    fingerprint bytea,
    charged text,
    expires float8,
    version bigint,
    PRIMARY KEY (product, slot)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX quote_id ON hushprice.quote (id);
CREATE UNIQUE INDEX quote_idempotency ON hushprice.quote (key, idempotency) WHERE idempotency IS NOT NULL;
CREATE INDEX quote_customer ON hushprice.quote (customer, product, counts) WHERE customer IS NOT NULL;

-- What a learner needs once.
CREATE TABLE hushprice.record (
    product integer NOT NULL,
    slot bigint NOT NULL,
    context bytea NOT NULL,
    PRIMARY KEY (product, slot)
);

-- Records that a forgotten customer may have in releases: who comes back gets no second cap.
CREATE TABLE hushprice.used_cap (
    customer bytea NOT NULL,
    product integer NOT NULL REFERENCES hushprice.product,
    records bigint NOT NULL,
    PRIMARY KEY (customer, product)
);

CREATE TABLE hushprice.release (
    product integer NOT NULL REFERENCES hushprice.product,
    sequence bigint NOT NULL,
    version bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('curvature', 'score')),
    records bigint NOT NULL,
    batch bigint NOT NULL,
    numbers bytea NOT NULL,
    belief bytea NOT NULL,
    at float8 NOT NULL,
    PRIMARY KEY (product, sequence)
);

CREATE TABLE hushprice.learner (
    product integer PRIMARY KEY REFERENCES hushprice.product,
    learned bigint NOT NULL,
    sequence bigint NOT NULL,
    state bytea NOT NULL,
    ledger bytea NOT NULL
);

CREATE TABLE hushprice.certificate (
    product integer PRIMARY KEY REFERENCES hushprice.product,
    at float8 NOT NULL,
    body bytea NOT NULL
);

-- Releases that somebody has seen and the store did not have. By name: a backup may be older than the product.
CREATE TABLE hushprice.seen (
    product text NOT NULL,
    sequence bigint NOT NULL,
    digest bytea NOT NULL,
    records bigint NOT NULL,
    restores bigint NOT NULL,
    skipped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (product, sequence, digest)
);

CREATE TABLE hushprice.identity (one integer PRIMARY KEY CHECK (one = 1), id bytea NOT NULL);
INSERT INTO hushprice.identity VALUES (1, uuid_send(gen_random_uuid()));

CREATE TABLE hushprice.tally (
    product integer NOT NULL REFERENCES hushprice.product,
    day integer NOT NULL,
    quoted bigint NOT NULL,
    bought bigint NOT NULL,
    declined bigint NOT NULL,
    expired bigint NOT NULL,
    repeated bigint NOT NULL,
    conflicting bigint NOT NULL,
    late bigint NOT NULL,
    over_cap bigint NOT NULL,
    forgotten bigint NOT NULL,
    holdout_quotes bigint NOT NULL,
    holdout_revenue float8 NOT NULL,
    personal_quotes bigint NOT NULL,
    personal_revenue float8 NOT NULL,
    holdout_squares float8 NOT NULL,
    personal_squares float8 NOT NULL,
    PRIMARY KEY (product, day)
) WITH (fillfactor = 20);
