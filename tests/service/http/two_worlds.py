"""The same shop in two worlds that differ in one customer's record, and everything that can be seen of either.

Randomness is the same in both, and with `SameReleases` so are the numbers released, whatever the records were. What is
proven is that later prices and public answers are made of releases: so with those alike, everything else must be too.
Left out are the one customer's own answers, which the promise does not cover, and the time that things took.
"""

from __future__ import annotations

import logging
import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.clock import pass_deadlines
from tests.service.conftest import as_quoter
from tests.service.http.running import CUSTOMER, Running, ask, running
from tests.service.http.test_cautious import SCARF
from tests.service.http.test_local_trust import TEA
from tests.service.learning_runs import same_noise

from hushprice.policies.cautious.private.bit_learner import BitLearner
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.service.http.routes import quotes
from hushprice.service.http.routes.table import READS
from hushprice.service.learning import certifier
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.quoting import learning_health
from hushprice.service.quoting.randomness import SIZE
from hushprice.service.shared import quote_ids
from hushprice.service.store import open_store

WATCHED = 3  # the slot of the one customer, from 0
COUNT = 30  # quotes a round: the first batch has 20
BATCHES = {"scarf": 48, "tea": 93}  # quotes a round, which are a batch: priced here, and by customers' devices
VIEWERS = (None, "shop", "other", "auditor")
Record = dict[str, dict[str, Any]]  # of a product: what is asked, what is told in time, one after the other, and late
ONE: Record = {
    "umbrella": {"asked": {"attributes": {"age": 41, "member": True, "region": "north"}}, "told": [], "late": []},
    "scarf": {"asked": {"context": [0.9, -0.8]}, "told": [], "late": []},
    "tea": {"asked": {}, "told": [], "late": []},
}
BUYS: list[dict[str, Any]] = [{"purchased": True}, {"purchased": True}, {"purchased": False}]
REPORTS: list[dict[str, Any]] = [{"about": 2, "up": True}, {"about": 2, "up": True}, {"about": 0, "up": False}]
OTHER: Record = {
    "umbrella": {
        "asked": {"attributes": {"age": 500, "member": False, "region": "south"}},  # clipped
        "told": BUYS,
        "late": BUYS[:1],
    },
    "scarf": {"asked": {"context": [-0.7, 0.6]}, "told": BUYS, "late": BUYS[:1]},
    "tea": {"asked": {}, "told": REPORTS, "late": REPORTS[:1]},
}

Seen = dict[str, str]  # what was looked at, and what it said
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)|(?<![\d.])1\d{9}(\.\d+)?\b")
_TOOK = re.compile(r"hushprice_(quote|look_age|overdue)_seconds\S* \S+|\"(overdue|since_look)\w*\":[\d.]+")
_UNCOVERED = {"date", "x-request-id", "content-length"}  # when; drawn for the request; of times that are taken out


@contextmanager
def same_randomness() -> Iterator[None]:
    """Ids, holdout coins and dispersed prices that are the same in every world."""
    random = np.random.default_rng(11)
    with pytest.MonkeyPatch.context() as patch, same_noise():
        patch.setattr(quotes, "random_bytes", lambda: random.bytes(SIZE))
        patch.setattr(quote_ids, "clock_bytes", lambda now: bytes(2))
        patch.setattr(certifier, "head_of", lambda trail: "0" * 64)  # it is of times and random bytes
        # The clock jumps: whether a look falls before the learner has followed is a matter of time.
        patch.setattr(learning_health, "LATE", math.inf)
        yield


_RELEASES = ((ExactBatch, "look"), (ExactBatch, "score"), (ExactSums, "release"), (BitLearner, "release"))


class SameReleases:
    """The first world's releases, noted as they are made; every later world publishes those, whatever its records."""

    def __init__(self) -> None:
        self._noted: list[Any] = []
        self._replays = False

    @contextmanager
    def world(self) -> Iterator[None]:
        """Inside, releases are noted, or repeated in their order."""
        left = list(self._noted)

        def repeated(real: Callable[..., Any]) -> Callable[..., Any]:
            def release(*given: Any) -> Any:
                made = real(*given)  # noise is drawn in every world
                if self._replays:
                    return left.pop(0)
                self._noted.append(made)
                return made

            return release

        with pytest.MonkeyPatch.context() as patch:
            for owner, name in _RELEASES:
                patch.setattr(owner, name, repeated(getattr(owner, name)))
            yield
        assert left == [], "a world has made fewer releases"
        self._replays = True


class World:
    """One shop, played from its first quote to its second batch of releases."""

    def __init__(self, server: Running, store: str, record: Record, viewers: Sequence[str | None]) -> None:
        self.server, self.record, self.viewers, self.seen = server, record, viewers, Seen()
        self._uri = store
        self._clients = {key: server.client(key) for key in {*viewers, "shop", "other"}}
        self._store = open_store(store, "learner")
        self._learner = LearningLoop(self._store, signing_key=Ed25519PrivateKey.from_private_bytes(bytes(range(32))))

    def play(self) -> None:
        """Quotes and outcomes; a look before anything is learned, one after, and one after it all happened again."""
        own = {"umbrella": self._round("first"), **{each: self._batch("first", each) for each in BATCHES}}
        self.look("before any release")
        self.learn()
        for product, quote in own.items():
            for body in self.record[product]["late"]:
                self._tell(quote, product, body)
        self.look("after releases")
        self._round("second")
        for each in BATCHES:
            self._batch("second", each)
        self.learn()
        self.look("in the end")

    def close(self) -> None:
        self._store.close()

    def learn(self) -> None:
        """Every deadline passes, and all that is due is learned."""
        pass_deadlines(self._uri)
        for _ in range(4):
            self._learner.turn()
        self.server.look()

    def look(self, when: str) -> None:
        """All that anybody may ask for, and much that nobody may."""
        for viewer in self.viewers:
            self._learner.turn()  # its lease is renewed: whether a learner is up is a matter of time
            self.server.look()
            client = self._clients[viewer]
            for path in _paths():
                self._note(f"{when}: {viewer} GET {path}", client.get(path))
            for path, body in _BODIES:
                self._note(f"{when}: {viewer} POST {path} {body}", client.post(path, json=body))

    def _round(self, name: str) -> str:
        """Quotes, each with what is told of it; returns the watched customer's."""
        watched = ""
        for n in range(COUNT):
            own = name == "first" and n == WATCHED
            client = self._clients["other" if n % 5 == 4 else "shop"]
            asked = self.record["umbrella"]["asked"] if own else {"attributes": {**CUSTOMER, "age": 20 + n}}
            body = ask(customer=f"c{n % 30}", **asked)
            answer = client.post("/v1/quotes", json=body, headers={"idempotency-key": f"{name} {n}"})
            assert answer.status_code == 201, answer.text
            if not own:
                self._note(f"{name} quote {n}", answer)
            bought = answer.json()["price"] < 10.0 + 7 * n % 25  # others react to their prices
            told = self.record["umbrella"]["told"] if own else [{"purchased": bought}] if n % 2 == 0 or bought else []
            for number, outcome in enumerate(told):
                answered = client.post(f"/v1/quotes/{answer.json()['id']}/outcome", json=outcome)
                if not own:
                    self._note(f"{name} outcome {n} {number}", answered)
            watched = answer.json()["id"] if own else watched
        return watched

    def _batch(self, name: str, product: str) -> str:
        """Quotes of a product of policy cautious, some with what is told of them; returns the watched customer's."""
        record, by_devices = self.record[product], product == "tea"
        asked = [{} if by_devices else {"context": [n / 100, -0.5]} for n in range(BATCHES[product])]
        if name == "first":
            asked[WATCHED] = record["asked"]
        body = {"quotes": [{"product": product, **each} for each in asked]}
        quotes = self._clients["shop"].post("/v1/quotes/batch", json=body).json()["quotes"]
        for n, quote in enumerate(quotes):
            if name == "first" and n == WATCHED:
                for body in record["told"]:
                    self._tell(quote["id"], product, body)
                continue
            self.seen[f"{name} quote of {product} {n}"] = masked(str(quote))
            if n % 6 == 0:
                told = {"about": n % 3, "up": n % 4 == 0} if by_devices else {"purchased": n % 4 == 0}
                self._note(f"{name} {product} told {n}", self._tell(quote["id"], product, told))
        return str(quotes[WATCHED]["id"])

    def _tell(self, quote: str, product: str, body: dict[str, Any]) -> httpx.Response:
        call = "report" if product == "tea" else "outcome"
        return self._clients["shop"].post(f"/v1/quotes/{quote}/{call}", json=body)

    def _note(self, what: str, answer: httpx.Response) -> None:
        headers = sorted((name, value) for name, value in answer.headers.items() if name not in _UNCOVERED)
        self.seen[what] = masked(f"{answer.status_code} {headers} {answer.text}")


def masked(text: str) -> str:
    """Without points in time and durations."""
    return _TOOK.sub("", _TIMES.sub("<time>", text))


def play(
    folder: Path, record: Record, uri: str | None = None, viewers: Sequence[str | None] = VIEWERS
) -> tuple[Seen, dict[str, list[str]]]:
    """Everything seen of a world, its log included, and what its database holds (of SQLite)."""
    folder.mkdir()
    store = uri or str(folder / "shop.db")
    log = _Lines()
    with same_randomness(), running(store, folder, as_quoter(store)) as server:
        server.create(epsilon=50.0, delta=1e-6, holdout=0.2, records_per_customer=3)
        for declared in (SCARF, TEA):
            assert server.client("admin").post("/v1/products", json=declared).status_code == 201
        world = World(server, store, record, viewers)
        with log.taken():
            world.play()
        world.close()
    world.seen["log"] = masked("\n".join(log.lines))
    return world.seen, {} if uri else _tables(store)


def different(one: Seen, other: Seen) -> list[str]:
    """What told the worlds apart."""
    return [what for what in {**one, **other} if one.get(what) != other.get(what)]


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    @contextmanager
    def taken(self) -> Iterator[None]:
        """All that is logged, at any level."""
        root, ours = logging.getLogger(), logging.getLogger("hushprice")
        level = ours.level
        root.addHandler(self)
        ours.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            root.removeHandler(self)
            ours.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(("httpx", "httpcore", "asyncio")):  # of the test itself
            self.lines.append(f"{record.levelname} {record.name} {record.getMessage()} {record.exc_text or ''}")


_BODIES: list[tuple[str, Any]] = [
    ("/v1/quotes", {"product": "umbrella"}),
    ("/v1/quotes", {"product": "unheard of", "attributes": {}}),
    ("/v1/quotes/batch", {"quotes": [{"product": "umbrella", "attributes": {"age": "old"}}]}),
    (f"/v1/quotes/{'0' * 32}/outcome", {"purchased": True}),
    ("/v1/customers/forget", {"customer": ["c3"]}),
]


def _paths() -> list[str]:
    known = [call.path.replace("{name}", name) for call in READS for name in ("umbrella", *BATCHES, "unheard-of")]
    asked = ["prices?x=age&y=member&steps=6", "prices?x=region&steps=3", "demand?age=41&member=true&region=north"]
    more = [f"/v1/products/umbrella/{each}" for each in (*asked, "demand?age=none", "prices?z=1")]
    more.append("/v1/products/scarf/demand?x1=0.5")
    return list(dict.fromkeys([*known, *more, "/", "/page/main.js", "/openapi.json", "/v1/quotes", "/nowhere"]))


def _tables(path: str) -> dict[str, list[str]]:
    """All rows of a SQLite file by table, without points in time and without the watched customer's quote."""
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    held = {}
    for name in names:
        rows = [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
        own = name == "quote"
        kept = [row for row in rows if not (own and row["slot"] == WATCHED + 1)]
        held[name] = [masked(repr({key: row[key] for key in row if key != "deadline"})) for row in kept]
    connection.close()
    return held
