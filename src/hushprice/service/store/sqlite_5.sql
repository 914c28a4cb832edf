-- Version 5.

-- The clock's bytes of an id first: quotes that are stored together are then on few pages of the index.
DROP INDEX quote_id;
CREATE UNIQUE INDEX quote_id ON quote (substr(id, 11, 2), id);
