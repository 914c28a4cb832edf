"""The systems that hushprice is compared with, one folder each (docs/guide/rivals.md).

A rival's folder has `policy.py` with READS and `rival`, which makes it for any frame, and what learns and prices. Where
noise is added, that is apart: `pricing.py` sees releases alone, and `private.py`, or a file of `rival_parts/private/`,
reads records.
"""
