"""Who did what by hand, for an admin key on the operator's port."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import msgspec

from hushprice.service.http.call import Answer, Call, CheckedRequest
from hushprice.service.quoting.service_state import Service
from hushprice.service.shared.times import rfc3339
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.trail import Act, TrailEntry, head_of


class ActView(msgspec.Struct, frozen=True):
    """One act."""

    at: str
    actor: Annotated[str, msgspec.Meta(description="an API key by name and digest, or a user of the command line")]
    what: Act
    about: Annotated[str, msgspec.Meta(description="a product or a key; empty where a customer was forgotten")]
    detail: str


class Trail(msgspec.Struct, frozen=True):
    """Everything that was done by hand, oldest first. It tells when customers were forgotten."""

    label: Literal["operator-only"]
    acts: list[ActView]
    digest: Annotated[str | None, msgspec.Meta(description="as the next certificate signs it")]


async def trail(service: Service, request: CheckedRequest) -> Answer:
    """The answer with the whole trail."""
    # In the learner's process every connection is a learner's.
    entries: list[TrailEntry] = await service.reader.call(lambda store: cast(LearnerStore, store).trail())
    acts = [ActView(rfc3339(each.at), each.actor, each.what, each.about, each.detail) for each in entries]
    return Answer(200, Trail("operator-only", acts, head_of(entries)))


TRAIL = Call(
    method="GET",
    path="/v1/operator/trail",
    name="operator_trail",
    tag="operator",
    summary="Who created, froze, forgot, or changed rules or keys",
    handler=trail,
    roles=("admin",),
    answers={200: Trail},
)
