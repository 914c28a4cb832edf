-- Version 2.

ALTER TABLE hushprice.product ADD COLUMN retired float8;
ALTER TABLE hushprice.learner ADD COLUMN ended boolean NOT NULL DEFAULT false;

CREATE TABLE hushprice.certified (product integer PRIMARY KEY REFERENCES hushprice.product, basis text NOT NULL);

CREATE TABLE hushprice.key_tally (
    product integer NOT NULL REFERENCES hushprice.product,
    key text NOT NULL,
    quoted bigint NOT NULL,
    PRIMARY KEY (product, key)
) WITH (fillfactor = 20);
INSERT INTO hushprice.key_tally SELECT product, key, count(*) FROM hushprice.quote GROUP BY product, key;
