-- Version 3.

-- A batch of policy cautious is released as one array.
CREATE TABLE release_of_3 (
    product INTEGER NOT NULL REFERENCES product,
    sequence INTEGER NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('curvature', 'score', 'moments')),
    records INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    numbers BLOB NOT NULL,
    belief BLOB NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (product, sequence)
) STRICT;
INSERT INTO release_of_3 SELECT * FROM release;
DROP TABLE release;
ALTER TABLE release_of_3 RENAME TO release;
