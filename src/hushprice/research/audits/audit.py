"""Every audit of a call: who watches prices, and who watches releases; their bounds hold together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushprice.policies.catalog import PlainFactory
from hushprice.policies.protocol import Policy
from hushprice.research.audits.black_box import judge_prices
from hushprice.research.audits.finding import AuditFinding
from hushprice.research.audits.release_runs import judge_releases
from hushprice.research.audits.watched_policies import PRIVATE, watch_policies


def audit_policies(policies: Sequence[str | Policy | PlainFactory] = PRIVATE, **options: Any) -> list[AuditFinding]:
    """One finding a policy and kind of noise from releases, and one a policy and story from prices.

    Options are those of `watch_policies`. delta is the claimed one, or the budget's where nothing is claimed.
    """
    call = watch_policies(policies, **options)
    given: dict[str, Any] = {"confidence": call.confidence, "audits": call.count}
    findings = [judge_releases(*seen, **given) for seen in call.by_releases(0)]
    return findings + [judge_prices(*seen, **given) for seen in call.by_prices(len(findings))]
