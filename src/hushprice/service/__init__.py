"""The pricing service: quotes out, outcomes back. Quoters hold releases only; one learner reads records.

Needs the extra `service`. docs/guide/service.md is the guide, docs/guide/operations.md says how to run it.
"""
