-- All that a quoter's role may do to records. They run with the owner's rights and return statuses, never a context or
-- an outcome. Locks, always in this order: the advisory lock, then products by number, then the trail's.
--
-- The advisory lock 0x68757368 keeps outcomes and the service's clock apart. Who stores outcomes shares it from before
-- the clock is read until the commit; who moves the clock has it alone. So when the clock has passed a deadline, every
-- outcome that was taken before it is visible to the learner, and none is taken any more.

CREATE OR REPLACE FUNCTION hushprice.lock_clock(alone boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- Otherwise what is read after the lock could be older than the lock.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the transaction must be read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF alone THEN
        PERFORM pg_advisory_xact_lock(1752527720);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(1752527720);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION hushprice.product_number(given text) RETURNS integer LANGUAGE plpgsql
SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE number integer;
BEGIN
    SELECT id INTO number FROM product WHERE name = given;
    IF number IS NULL THEN
        RAISE EXCEPTION 'no such product' USING ERRCODE = 'no_data_found';
    END IF;
    RETURN number;
END $$;

-- Counts of one transaction, a list of objects, added to the stored ones.
CREATE OR REPLACE FUNCTION hushprice.add_tally(counts jsonb) RETURNS void LANGUAGE sql
SET search_path = pg_catalog, hushprice, pg_temp AS $$
    INSERT INTO tally AS t
    SELECT product, day, coalesce(sum(quoted), 0), coalesce(sum(bought), 0), coalesce(sum(declined), 0),
        coalesce(sum(expired), 0), coalesce(sum(repeated), 0), coalesce(sum(conflicting), 0), coalesce(sum(late), 0),
        coalesce(sum(over_cap), 0), coalesce(sum(forgotten), 0), coalesce(sum(holdout_quotes), 0),
        coalesce(sum(holdout_revenue), 0), coalesce(sum(personal_quotes), 0), coalesce(sum(personal_revenue), 0),
        coalesce(sum(holdout_squares), 0), coalesce(sum(personal_squares), 0)
    FROM jsonb_to_recordset(counts) AS c (
        product integer, day integer, quoted bigint, bought bigint, declined bigint, expired bigint, repeated bigint,
        conflicting bigint, late bigint, over_cap bigint, forgotten bigint, holdout_quotes bigint,
        holdout_revenue float8, personal_quotes bigint, personal_revenue float8, holdout_squares float8,
        personal_squares float8)
    GROUP BY product, day
    ON CONFLICT (product, day) DO UPDATE SET
        quoted = t.quoted + excluded.quoted, bought = t.bought + excluded.bought,
        declined = t.declined + excluded.declined, expired = t.expired + excluded.expired,
        repeated = t.repeated + excluded.repeated, conflicting = t.conflicting + excluded.conflicting,
        late = t.late + excluded.late, over_cap = t.over_cap + excluded.over_cap,
        forgotten = t.forgotten + excluded.forgotten, holdout_quotes = t.holdout_quotes + excluded.holdout_quotes,
        holdout_revenue = t.holdout_revenue + excluded.holdout_revenue,
        personal_quotes = t.personal_quotes + excluded.personal_quotes,
        personal_revenue = t.personal_revenue + excluded.personal_revenue,
        holdout_squares = t.holdout_squares + excluded.holdout_squares,
        personal_squares = t.personal_squares + excluded.personal_squares;
$$;

CREATE OR REPLACE FUNCTION hushprice.counted_outcome(
    product integer, day integer, holdout boolean, price float8, demand float8, times integer
) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
        'product', product, 'day', day,
        -- A report, whose quote has the price -1, is no outcome.
        CASE WHEN price >= 0.0 AND demand > 0.0 THEN 'bought' ELSE 'declined' END, times,
        CASE WHEN holdout THEN 'holdout_revenue' ELSE 'personal_revenue' END, times * paid * sold,
        CASE WHEN holdout THEN 'holdout_squares' ELSE 'personal_squares' END, times * paid * sold * paid * sold)
    -- Less would be an error once squared: where others round to 0, this database refuses.
    FROM (SELECT greatest(price, 0.0) AS paid, CASE WHEN abs(demand) < 1e-100 THEN 0.0 ELSE demand END AS sold) AS took;
$$;

-- With a lock, so that rows come in the order of commits: a digest of them was signed, perhaps, and none may slip in
-- before it later.
CREATE OR REPLACE FUNCTION hushprice.note_trail(at float8, actor text, what text, about text, detail text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, hushprice, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1752527722);
    INSERT INTO trail (at, actor, what, about, detail) VALUES (at, actor, what, about, detail);
END $$;

CREATE OR REPLACE FUNCTION hushprice.note_key_use(used text[], today integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
    INSERT INTO key_use SELECT k, today, 0, 0 FROM unnest(used) AS k ORDER BY k ON CONFLICT DO NOTHING;
$$;

-- The answer that an asker's key got before; null where it got none. sqlite_quotes.repeated_answer says the same.
CREATE OR REPLACE FUNCTION hushprice.repeated(asker text, used bytea, request bytea) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
    SELECT CASE WHEN fingerprint IS DISTINCT FROM request
        THEN '{"id": "", "charged": "", "expires": 0.0, "version": 0, "fresh": false, "conflict": true}'
        ELSE jsonb_build_object('id', encode(id, 'hex'), 'charged', charged, 'expires', expires, 'version', version,
            'fresh', false, 'propensity', propensity) END
    FROM quote WHERE key = asker AND idempotency = used;
$$;

-- Quotes first; null in the answer is the quote as asked.
CREATE OR REPLACE FUNCTION hushprice.store_quotes(quotes jsonb, clock float8, today integer) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE
    q record;
    old jsonb;
    names text[];
    numbers integer[];
    last bigint[];
    asked bytea[];
    stored bytea[];
    place integer;
    counted bigint;
    within boolean;
    keys text[] := '{}';
    products integer[] := '{}';
    tallied jsonb[] := '{}';
    given jsonb[] := '{}';
BEGIN
    SELECT array_agg(name), array_agg(id), array_agg(slots) INTO names, numbers, last
        FROM product WHERE name IN (SELECT a ->> 'product' FROM jsonb_array_elements(quotes) a);
    -- A commit may have stored them whose answer never came: asking again must not take second slots.
    asked := ARRAY(SELECT decode(a ->> 'id', 'hex') FROM jsonb_array_elements(quotes) a);
    stored := ARRAY(SELECT quote.id FROM quote WHERE quote.id = ANY (asked));
    FOR q IN SELECT * FROM ROWS FROM (jsonb_to_recordset(quotes) AS (
        id text, product text, key text, context text, price float8, charged text, expires float8, version bigint,
        holdout boolean, "window" float8, cap bigint, customer text, idempotency text, fingerprint text,
        propensity float8
    )) WITH ORDINALITY ORDER BY ordinality LOOP
        IF decode(q.id, 'hex') = ANY (stored) THEN
            given := given || 'null'::jsonb;
            CONTINUE;
        END IF;
        IF q.idempotency IS NOT NULL THEN
            old := repeated(q.key, decode(q.idempotency, 'base64'), decode(q.fingerprint, 'base64'));
            IF old IS NOT NULL THEN
                given := given || old;
                CONTINUE;
            END IF;
        END IF;
        place := array_position(names, q.product);
        IF place IS NULL THEN
            RAISE EXCEPTION 'no such product' USING ERRCODE = 'no_data_found';
        END IF;
        -- The product's row is locked, so its slots are given in the order of commits, without gaps.
        last[place] := last[place] + 1;
        within := true;
        IF q.cap IS NOT NULL THEN
            SELECT count(*) INTO counted FROM (SELECT 1 FROM quote
                WHERE quote.customer = decode(q.customer, 'base64') AND quote.product = numbers[place] AND quote.counts
                LIMIT q.cap) AS own;
            SELECT counted + coalesce(sum(records), 0) INTO counted FROM used_cap
                WHERE used_cap.customer = decode(q.customer, 'base64') AND used_cap.product = numbers[place];
            within := q.customer IS NOT NULL AND counted < q.cap;
        END IF;
        INSERT INTO quote VALUES (
            numbers[place], last[place], decode(q.id, 'hex'), q.key, q.price, q.holdout, within, clock + q."window",
            today, 0, NULL, decode(q.customer, 'base64'), decode(q.idempotency, 'base64'),
            CASE WHEN q.idempotency IS NOT NULL THEN decode(q.fingerprint, 'base64') END,
            CASE WHEN q.idempotency IS NOT NULL THEN q.charged END,
            CASE WHEN q.idempotency IS NOT NULL THEN q.expires END,
            CASE WHEN q.idempotency IS NOT NULL THEN q.version END, q.propensity);
        INSERT INTO record VALUES (numbers[place], last[place], decode(q.context, 'base64'));
        tallied := tallied || jsonb_build_object(
            'product', numbers[place], 'day', today, 'quoted', 1, 'over_cap', (NOT within)::integer,
            CASE WHEN q.holdout THEN 'holdout_quotes' ELSE 'personal_quotes' END, 1);
        keys := keys || q.key;
        products := products || numbers[place];
        given := given || 'null'::jsonb;
    END LOOP;
    INSERT INTO key_use AS u
        SELECT a.key, today, a.product, count(*) FROM unnest(keys, products) AS a (key, product) GROUP BY 1, 3
        ON CONFLICT (key, day, product) DO UPDATE SET quotes = u.quotes + excluded.quotes;
    UPDATE product SET slots = new.slots FROM unnest(numbers, last) AS new (id, slots) WHERE product.id = new.id;
    PERFORM add_tally(to_jsonb(tallied));
    RETURN to_jsonb(given);
END $$;

-- decisions.largest_demand in Python says the same.
CREATE OR REPLACE FUNCTION hushprice.largest_demand(number integer) RETURNS float8 LANGUAGE sql
SET search_path = pg_catalog, hushprice, pg_temp AS $$
    SELECT CASE declared ->> 'family' WHEN 'poisson' THEN coalesce((declared ->> 'bound')::float8, 10.0)
        WHEN 'logistic' THEN coalesce((declared ->> 'most')::float8, 1.0) ELSE 'infinity'::float8 END
    FROM (SELECT convert_from(spec, 'UTF8')::jsonb AS declared FROM product WHERE id = number) AS specs;
$$;

CREATE OR REPLACE FUNCTION hushprice.store_outcomes(outcomes jsonb, clock float8) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE
    o record;
    q record;
    told jsonb[] := '{}';
    tallied jsonb[] := '{}';
BEGIN
    FOR o IN SELECT * FROM ROWS FROM (
        jsonb_to_recordset(outcomes) AS (quote text, key text, demand float8, report boolean))
        WITH ORDINALITY ORDER BY ordinality
    LOOP
        SELECT * INTO q FROM quote WHERE id = decode(o.quote, 'hex') AND quote.key = o.key AND status <> 3;
        IF NOT FOUND THEN
            told := told || '{"status": "unknown"}'::jsonb;
        ELSIF (q.price = -1.0) <> coalesce(o.report, false) THEN  -- quoters of earlier versions take no reports
            told := told || '{"status": "another kind"}'::jsonb;
        ELSIF q.price <> -1.0 AND o.demand > 1.0 AND o.demand > largest_demand(q.product) THEN
            told := told || jsonb_build_object('status', 'too much', 'bound', largest_demand(q.product));
        ELSIF q.status = 0 AND clock < q.deadline THEN
            UPDATE quote SET status = 1, demand = o.demand WHERE product = q.product AND slot = q.slot;
            told := told || '{"status": "recorded"}'::jsonb;
            tallied := tallied || counted_outcome(q.product, q.day, q.holdout, q.price, o.demand, 1);
        ELSIF q.status = 0 THEN
            UPDATE quote SET status = 2, demand = o.demand WHERE product = q.product AND slot = q.slot;
            told := told || '{"status": "late"}'::jsonb;
            tallied := tallied || jsonb_build_object('product', q.product, 'day', q.day, 'late', 1);
        ELSIF q.demand <> o.demand THEN
            told := told || '{"status": "conflict"}'::jsonb;
            tallied := tallied || jsonb_build_object('product', q.product, 'day', q.day, 'conflicting', 1);
        ELSE
            told := told || jsonb_build_object('status', CASE q.status WHEN 1 THEN 'recorded' ELSE 'late' END,
                'repeat', true);
            tallied := tallied || jsonb_build_object('product', q.product, 'day', q.day, 'repeated', 1);
        END IF;
    END LOOP;
    PERFORM add_tally(to_jsonb(tallied));
    RETURN to_jsonb(told);
END $$;

CREATE OR REPLACE FUNCTION hushprice.write(quotes jsonb, outcomes jsonb, today integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE
    now float8;
    told bytea[];
    concerned integer[];
    given jsonb;
BEGIN
    -- Outcomes wait for a lock less long than quotes have patience for the store: quotes may be behind them.
    IF jsonb_array_length(quotes) = 0 THEN
        PERFORM set_config('lock_timeout', '1500ms', true);
    END IF;
    PERFORM lock_clock(false);
    SELECT service INTO now FROM clock;
    -- Arrays, so that the index is used whatever the planner believes about the table.
    told := ARRAY(SELECT decode(a ->> 'quote', 'hex') FROM jsonb_array_elements(outcomes) a);
    concerned := ARRAY(SELECT DISTINCT product FROM quote WHERE quote.id = ANY (told));
    PERFORM 1 FROM product
        WHERE name IN (SELECT a ->> 'product' FROM jsonb_array_elements(quotes) a)
        OR id = ANY (concerned) ORDER BY id FOR NO KEY UPDATE;
    given := store_quotes(quotes, now, today);
    RETURN jsonb_build_object('given', given, 'told', store_outcomes(outcomes, now));
END $$;

-- decisions.moved in Python says the same.
CREATE OR REPLACE FUNCTION hushprice.beat(now float8) RETURNS float8
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE
    grace CONSTANT float8 := 5.0;
    c record;
BEGIN
    PERFORM lock_clock(true);
    SELECT * INTO c FROM clock;
    IF c.beat IS NULL OR now > c.beat + grace OR (now < c.beat AND now >= c.behind + grace) THEN
        UPDATE clock SET beat = now, behind = NULL;
    ELSIF now >= c.beat THEN
        UPDATE clock SET service = service + (now - c.beat), beat = now, behind = NULL;
        RETURN c.service + (now - c.beat);
    ELSE
        UPDATE clock SET behind = least(behind, now);
    END IF;
    RETURN c.service;
END $$;

-- For how long the next slot to be learned has been due, by product, where it is: of slots and the clock alone.
CREATE OR REPLACE FUNCTION hushprice.overdue() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
    -- A query of its own for each product, so that one quote of each is read.
    SELECT coalesce(jsonb_object_agg(name, seconds), '{}') FROM (
        SELECT name, service - (SELECT deadline FROM quote WHERE quote.product = product.id
            AND quote.slot = greatest(coalesce(learned, 0), skipped_slots) + 1) AS seconds
        FROM product CROSS JOIN clock LEFT JOIN learner ON learner.product = product.id OFFSET 0) AS due
    WHERE seconds >= 0
$$;


-- lost_releases.is_on in Python says the same.
CREATE OR REPLACE FUNCTION hushprice.is_on(lineage bytea, sequence bigint, digest bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN sequence >= 1 AND length(lineage) >= 8 * sequence AND length(digest) >= 8
        THEN substring(lineage FROM (8 * sequence - 7)::integer FOR 8) = substring(digest FROM 1 FOR 8) ELSE false END;
$$;

-- lost_releases.is_known in Python says the same. With the products locked, so that no release is being stored meanwhile.
CREATE OR REPLACE FUNCTION hushprice.report_seen(seen jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
BEGIN
    PERFORM 1 FROM product WHERE name IN (SELECT a ->> 'product' FROM jsonb_array_elements(report_seen.seen) a)
        ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO seen (product, sequence, digest, records, restores, overlapping, lineage)
    SELECT s.product, s.sequence, s.digest, s.records, s.restores, s.overlapping, s.lineage
    FROM (
        SELECT a.product, a.sequence, decode(a.digest, 'base64') AS digest, a.records, a.restores,
            coalesce(a."overlaps", 0) AS overlapping, coalesce(decode(a.lineage, 'base64'), '') AS lineage
        FROM jsonb_to_recordset(report_seen.seen) AS a (
            product text, sequence bigint, digest text, records bigint, restores bigint, "overlaps" bigint, lineage text)
    ) AS s
    LEFT JOIN product AS p ON p.name = s.product
    LEFT JOIN release AS r ON r.product = p.id AND r.sequence = s.sequence
    WHERE p.id IS NULL OR CASE WHEN r.numbers IS NULL
        THEN s.sequence > p.skipped_releases OR s.records > p.skipped_slots OR NOT EXISTS (
            SELECT 1 FROM seen AS e WHERE e.product = s.product AND e.skipped AND (
                is_on(e.lineage, s.sequence, s.digest) OR is_on(s.lineage, e.sequence, e.digest)
                OR (e.sequence = s.sequence AND e.digest = s.digest)))
        ELSE s.digest <> '' AND s.digest <> sha256(r.numbers) END
    ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION hushprice.add_product(
    given text, spec bytea, rules bytea, now float8, actor text DEFAULT 'unknown'
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
    INSERT INTO product (name, spec, rules, created) VALUES (given, spec, rules, now);
    SELECT note_trail(now, actor, 'create product', given, '');
$$;

CREATE OR REPLACE FUNCTION hushprice.set_status(given text, new text, now float8, actor text DEFAULT 'unknown')
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE number integer := product_number(given);
BEGIN
    UPDATE product SET status = new WHERE id = number AND status <> new;
    IF FOUND THEN
        INSERT INTO change (product, at, what, detail)
            VALUES (number, now, CASE new WHEN 'frozen' THEN 'freeze' ELSE 'resume' END, '');
        PERFORM note_trail(now, actor, CASE new WHEN 'frozen' THEN 'freeze' ELSE 'resume' END, given, '');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION hushprice.retire(given text, now float8, actor text DEFAULT 'unknown') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE number integer := product_number(given);
BEGIN
    UPDATE product SET retired = now WHERE id = number AND retired IS NULL;
    IF FOUND THEN
        INSERT INTO change (product, at, what, detail) VALUES (number, now, 'retire', '');
        PERFORM note_trail(now, actor, 'retire', given, '');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION hushprice.set_rules(
    given text, new bytea, detail text, now float8, actor text DEFAULT 'unknown'
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE number integer := product_number(given);
BEGIN
    UPDATE product SET rules = new WHERE id = number;
    INSERT INTO change (product, at, what, detail) VALUES (number, now, 'rules', detail);
    PERFORM note_trail(now, actor, 'rules', given, detail);
END $$;

CREATE OR REPLACE FUNCTION hushprice.set_reference_price(
    given text, new float8, detail text, now float8, actor text DEFAULT 'unknown'
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE number integer := product_number(given);
BEGIN
    UPDATE product SET reference_price = new WHERE id = number;
    INSERT INTO change (product, at, what, detail) VALUES (number, now, 'reference price', detail);
    PERFORM note_trail(now, actor, 'reference price', given, detail);
END $$;

-- Leaves tombstones, and the number of records that a release may hold, so that nobody gets a second cap.
CREATE OR REPLACE FUNCTION hushprice.forget(who bytea, actor text DEFAULT 'unknown') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, hushprice, pg_temp AS $$
DECLARE
    q record;
    now float8;
    tallied jsonb[] := '{}';
BEGIN
    PERFORM lock_clock(true);
    SELECT service INTO now FROM clock;
    PERFORM 1 FROM product WHERE id IN (SELECT product FROM quote WHERE customer = who) ORDER BY id FOR NO KEY UPDATE;
    FOR q IN SELECT quote.*, coalesce(learned, 0) AS learned
        FROM quote LEFT JOIN learner ON learner.product = quote.product WHERE customer = who
    LOOP
        tallied := tallied || jsonb_build_object('product', q.product, 'day', q.day, 'forgotten', 1,
            CASE WHEN q.holdout THEN 'holdout_quotes' ELSE 'personal_quotes' END, -1);
        IF q.status = 1 THEN
            tallied := tallied || counted_outcome(q.product, q.day, q.holdout, q.price, q.demand, -1);
        ELSIF q.slot <= q.learned THEN
            tallied := tallied || jsonb_build_object('product', q.product, 'day', q.day, 'expired', -1);
        END IF;
    END LOOP;
    -- A learner may hold every slot that is due, in a release or about to be.
    INSERT INTO used_cap AS u
        SELECT who, product, count(*) FROM quote WHERE customer = who AND counts AND deadline <= now GROUP BY product
        ON CONFLICT (customer, product) DO UPDATE SET records = u.records + excluded.records;
    DELETE FROM record USING quote
        WHERE quote.customer = who AND record.product = quote.product AND record.slot = quote.slot;
    UPDATE quote SET status = 3, demand = NULL, counts = false, price = 0.0, customer = NULL, idempotency = NULL,
        fingerprint = NULL, charged = NULL, expires = NULL, version = NULL, propensity = NULL WHERE customer = who;
    PERFORM add_tally(to_jsonb(tallied));
    PERFORM note_trail(extract(epoch FROM clock_timestamp())::float8, actor, 'forget customer', '', '');
END $$;
