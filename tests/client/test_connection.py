"""Connections are kept, one a thread, and a server that hangs up on an idle one costs no quote."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from hushprice.client import Client
from hushprice.errors import InvalidInput


def test_a_connection_is_kept(client, service):
    for _ in range(5):
        assert not client.quote("coffee", context=[0.0]).fallback
    assert service.connections == 1


def test_a_connection_that_ended_while_idle_costs_no_quote_and_no_second_request(client, service, play, quote_body):
    service.script = [play["answer then hang up"], (201, quote_body)]
    assert not client.quote("coffee", context=[0.0]).fallback
    assert service.closed.acquire(timeout=60)  # the server's goodbye is on its way, which is short here
    assert not client.quote("coffee", context=[0.0]).fallback
    assert (len(service.asked), service.connections) == (2, 2)


def test_after_a_failure_the_next_quote_has_a_fresh_connection(hasty, service, play, quote_body):
    service.script = [play["wait"], (201, quote_body)]
    assert hasty.quote("coffee", context=[0.0]).fallback
    assert not hasty.quote("coffee", context=[0.0]).fallback


def test_each_thread_has_its_own(client, service):
    ready = threading.Barrier(4)

    def ask() -> None:
        ready.wait()
        for _ in range(5):
            assert not client.quote("coffee", context=[0.0]).fallback

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(service.asked), service.connections) == (20, 4)


def test_a_closed_client_opens_again_when_asked(client):
    client.quote("coffee", context=[0.0])
    client.close()
    assert not client.quote("coffee", context=[0.0]).fallback


def test_a_forked_process_does_not_write_into_its_parents_connection(client, service, monkeypatch):
    client.quote("coffee", context=[0.0])
    monkeypatch.setattr(os, "getpid", lambda: -1)
    client.quote("coffee", context=[0.0])
    assert service.connections == 2


def test_a_path_before_the_api_is_kept(service):
    with Client(service.url + "/pricing/", "a-key", timeout=60.0) as client:
        client.privacy("coffee")
        client.privacy()
        client.demand("coffee", age=42, member=True)
    assert [asked[1] for asked in service.asked] == [
        "/pricing/v1/products/coffee/privacy",
        "/pricing/v1/privacy",
        "/pricing/v1/products/coffee/demand?age=42&member=true",
    ]


def test_bad_settings_are_refused_and_the_key_is_never_shown():
    for url in ("127.0.0.1:8787", "ftp://shop", "http://"):
        with pytest.raises(InvalidInput, match="url must be"):
            Client(url, "a-key")
    for timeout in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="timeout"):
            Client("http://shop", "a-key", timeout=timeout)
    with pytest.raises(InvalidInput) as caught:
        Client("http://shop", "secret\n")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(Client("http://shop", "secret"))


def test_the_environment_says_where_and_who(service, monkeypatch):
    monkeypatch.setenv("HUSHPRICE_URL", service.url)
    monkeypatch.setenv("HUSHPRICE_KEY", "another-key")
    with Client.from_environment(timeout=60.0) as client:
        client.privacy()
    assert service.asked[0][3]["Authorization"] == "Bearer another-key"
    monkeypatch.delenv("HUSHPRICE_KEY")
    with pytest.raises(InvalidInput, match="lacks HUSHPRICE_KEY"):
        Client.from_environment()


def test_a_shops_side_and_a_device_need_msgspec_alone():
    code = """
import sys
before = {name.split(".")[0] for name in sys.modules}  # an editable installation has finders of its own
from hushprice.client import Aggregators, Client, Device, SharingDevice
print(*{name.split(".")[0] for name in sys.modules} - before - sys.stdlib_module_names)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"typing_extensions"} == {"hushprice", "msgspec"}  # msgspec's, where it is there
