"""The pricing service: quotes out, outcomes back. Quoters hold releases only; one learner reads records.

Needs the extra `service`. docs/service.md is the guide, docs/operations.md says how to run it.
"""
