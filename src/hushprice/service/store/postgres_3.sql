-- Version 3.

-- A batch of policy cautious is released as one array.
ALTER TABLE hushprice.release DROP CONSTRAINT release_kind_check,
    ADD CONSTRAINT release_kind_check CHECK (kind IN ('curvature', 'score', 'moments'));
