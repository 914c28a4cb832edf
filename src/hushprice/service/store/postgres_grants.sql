-- Exactly what a quoter needs. Nobody else gets anything but the owner, who learns.
REVOKE ALL ON SCHEMA hushprice FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA hushprice FROM PUBLIC, hushprice_quoter;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hushprice FROM PUBLIC, hushprice_quoter;
GRANT USAGE ON SCHEMA hushprice TO hushprice_quoter;
GRANT SELECT ON hushprice.meta, hushprice.api_key, hushprice.product, hushprice.change, hushprice.release,
    hushprice.certificate, hushprice.lease, hushprice.identity, hushprice.key_use TO hushprice_quoter;
GRANT EXECUTE ON FUNCTION hushprice.write, hushprice.repeated, hushprice.beat, hushprice.overdue, hushprice.report_seen,
    hushprice.forget, hushprice.note_key_use, hushprice.add_product, hushprice.set_status, hushprice.retire,
    hushprice.set_rules, hushprice.set_reference_price TO hushprice_quoter;
