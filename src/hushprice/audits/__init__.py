"""Audits: measure what the code reveals, and compare it with what the ledger says it may."""
