"""Every call that only an admin may make, and every verb that changes keys, says in the trail who did it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.service.http.running import KEYS, PRODUCT, Running
from tests.service.http.test_keys_and_limits import BODIES
from tests.service.http.test_serve import call  # noqa: F401 - a fixture

from hushprice.errors import InvalidInput
from hushprice.service.http.routes.table import CALLS
from hushprice.service.shared import key_changes, keys
from hushprice.service.shared.key_changes import KeyLimits
from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import ApiKey

BY_HAND = [each for each in CALLS if each.roles == ("admin",) and each.method != "GET"]


def test_every_change_over_http_names_the_key_that_made_it(fresh: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hushprice")
    admin, store = fresh.client("admin"), open_store(fresh.store, "learner")
    signature = ApiKey("admin", "admin", keys.digest(KEYS["admin"])).signature
    bodies: dict[str, Any] = {**BODIES, "create_product": {**PRODUCT, "name": "another"}}
    assert BY_HAND
    for each in BY_HAND:
        before = len(store.trail())
        path = each.path.replace("{name}", "umbrella")
        assert admin.request(each.method, path, json=bodies.get(each.name)).status_code in (200, 201), each.name
        (entry,) = store.trail()[before:]
        assert entry.actor == signature, each.name
        assert each.name in caplog.messages[-1]
        assert signature in caplog.messages[-1]
        assert "nobody" not in caplog.messages[-1] + entry.detail  # the customer who was forgotten
    store.close()


def test_keys_with_limits_from_the_command_line(call: Callable[..., Any]) -> None:  # noqa: F811
    at = ("--store", "shop.db")
    assert call("keys", "add", *at, "--name", "web", "--expires", "2099-01-31", "--quota", "50")[0] == 0
    assert call("keys", "add", *at, "--name", "boss", "--role", "admin")[0] == 0
    listed = call("keys", "list", *at)[1].splitlines()
    assert [line.split("\t")[3:] for line in listed] == [
        ["never expires", "never used", "0 of any number of quotes today", "all products"],
        ["expires 2099-01-31", "never used", "0 of 50 quotes today", "all products"],
    ]
    assert call("keys", "change", *at, "--name", "web", "--quota", "none", "--expires", "never")[0] == 0
    assert "\tnever expires\tnever used\t0 of any number" in call("keys", "list", *at)[1].splitlines()[1]
    assert call("keys", "remove", *at, "--name", "web")[0] == 0
    code, out, _ = call("trail", *at)
    assert code == 0
    assert [line.split("\t")[2:4] for line in out.splitlines()] == [
        ["add key", "web"],
        ["add key", "boss"],
        ["change key", "web"],
        ["remove key", "web"],
    ]
    assert all(line.split("\t")[1].startswith("command line, user ") for line in out.splitlines())
    code, _, err = call("trail", *at, "--certificate", "nowhere.json")
    assert (code, err.count("\n")) == (2, 1)


@pytest.fixture
def store(tmp_path: Path):
    opened = open_store(str(tmp_path / "shop.db"), "learner")
    opened.add_product("umbrella", b"{}", b"{}", 1000.0)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("role", "limits", "said"),
    [
        ("shop", {"expires": "tomorrow"}, "expires must be a date"),
        ("shop", {"expires": "2020-01-01"}, "expires must be a date to come, got '2020-01-01'"),
        ("shop", {"quota": "0"}, "quota must be"),
        ("shop", {"quota": "many"}, "quota must be"),
        ("shop", {"quota": "9" * 13}, "quota must be"),
        ("shop", {"products": ["umbrela"]}, "product: there is none of the name 'umbrela'"),
        ("auditor", {"quota": "5"}, "are for keys of role shop, got role 'auditor'"),
        ("admin", {"products": ["umbrella"]}, "are for keys of role shop"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(
    store: LearnerStore, role: str, limits: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        key_changes.add(store, "web", role, KeyLimits(**limits))
    assert not store.api_keys()


def test_limits_are_changed_one_by_one_and_some_admin_key_lasts(store: LearnerStore) -> None:
    key_changes.add(store, "boss", "admin")
    key_changes.add(store, "web", "shop", KeyLimits(products=["umbrella"], quota="7"))
    key_changes.change(store, "web", KeyLimits(quota="8"))
    assert [(key.products, key.quota) for key in store.api_keys()] == [((), None), (("umbrella",), 8)]
    key_changes.change(store, "web", KeyLimits(products=["all"], quota="none"))
    assert [(key.products, key.quota) for key in store.api_keys()] == [((), None), ((), None)]
    with pytest.raises(InvalidInput, match="last admin key"):
        key_changes.change(store, "boss", KeyLimits(expires="2099-01-01"))
    key_changes.add(store, "guest", "admin", KeyLimits(expires="2099-01-01"))
    with pytest.raises(InvalidInput, match="last admin key"):
        key_changes.remove(store, "boss")  # the other one will not do for ever
