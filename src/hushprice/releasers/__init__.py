"""Layer 2: private releasers. They read records, add noise, and charge the ledger."""
