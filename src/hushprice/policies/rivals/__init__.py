"""The systems that hushprice is compared with, one folder each (docs/guide/rivals.md). They run in simulations alone.

A rival's folder has `policy.py` with READS and `rival`, which makes it for any frame, beside what learns and prices:
`learner.py`, or, where noise is added, `private.py`, which reads records, and `pricing.py`, which sees releases alone.
"""
