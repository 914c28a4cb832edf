-- Version 2.

-- By which history a release was seen in: see lost_releases.py.
ALTER TABLE seen ADD COLUMN overlapping INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seen ADD COLUMN trail BLOB NOT NULL DEFAULT x'';

-- Quotes that were kept for as long as the product declares: the highest slot of those erased, and how many they are.
ALTER TABLE product ADD COLUMN erased_slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE product ADD COLUMN erased_quotes INTEGER NOT NULL DEFAULT 0;
