-- Version 2. What the learner says of its work whenever it renews its lease.
ALTER TABLE lease ADD COLUMN since_look REAL NOT NULL DEFAULT 0.0;    -- seconds since it had looked at all products
ALTER TABLE lease ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0;    -- products that failed
