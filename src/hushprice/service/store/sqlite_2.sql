-- Version 2.

ALTER TABLE product ADD COLUMN retired REAL;    -- wall-clock, from when on nothing is quoted; NULL: it is not retired

ALTER TABLE learner ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;    -- nothing is learned of it any more

-- What the newest certificate of a product came after: where nothing of it has changed, none is due.
CREATE TABLE certified (product INTEGER PRIMARY KEY REFERENCES product, basis TEXT NOT NULL) STRICT;

-- Quotes of an API key, by its identity: that one was given, and who asked, is no part of a record.
CREATE TABLE key_tally (
    product INTEGER NOT NULL REFERENCES product,
    key TEXT NOT NULL,
    quoted INTEGER NOT NULL,
    PRIMARY KEY (product, key)
) STRICT, WITHOUT ROWID;
INSERT INTO key_tally SELECT product, key, count(*) FROM quote GROUP BY product, key;
