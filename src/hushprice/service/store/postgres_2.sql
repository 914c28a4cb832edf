-- Version 2. What the learner says of its work whenever it renews its lease.
ALTER TABLE hushprice.lease ADD COLUMN since_look float8 NOT NULL DEFAULT 0.0,    -- seconds since it saw all products
    ADD COLUMN set_aside integer NOT NULL DEFAULT 0;                              -- products that failed
