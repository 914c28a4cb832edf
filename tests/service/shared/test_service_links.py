"""Variables that Kubernetes sets for services called hushprice are no settings; misspelt settings are still refused."""

from __future__ import annotations

import pytest

from hushprice.errors import InvalidInput
from hushprice.service.shared.config import read
from hushprice.service.shared.service_links import say_ignored, service_links


def link(service: str, host: str = "10.96.0.7", port: int = 8787) -> dict[str, str]:
    """What Kubernetes sets for one service, as its documentation lists it."""
    url, base = f"tcp://{host}:{port}", f"{service}_PORT_{port}_TCP"
    return {
        f"{service}_SERVICE_HOST": host,
        f"{service}_SERVICE_PORT": str(port),
        f"{service}_SERVICE_PORT_HTTP": str(port),
        f"{service}_PORT": url,
        base: url,
        f"{base}_PROTO": "tcp",
        f"{base}_PORT": str(port),
        f"{base}_ADDR": host,
    }


def test_a_service_named_hushprice_does_not_stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    given = link("HUSHPRICE") | link("HUSHPRICE_OPERATOR", "fd00::7", 8788)
    assert service_links(given) == set(given)
    assert read(None, given, {}) == read(None, {}, {})
    assert read(None, {**given, "HUSHPRICE_PORT": "9000"}, {}).port == 9000  # set by hand, it is a setting
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    say_ignored(said.append)
    assert len(said) == 1
    assert "HUSHPRICE_SERVICE_HOST" in said[0]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"HUSHPRICE_SERVICE_HOST": "10.0.0.7"}, "HUSHPRICE_SERVICE_HOST"),
        ({"HUSHPRICE_SERVICE_PORT": "9000"}, "HUSHPRICE_SERVICE_PORT"),
        ({"HUSHPRICE_SERVICE_HOST": "shop.example", "HUSHPRICE_SERVICE_PORT": "1"}, "HUSHPRICE_SERVICE_HOST"),
        ({"HUSHPRICE_PORT": "tcp://10.0.0.7:8787"}, "port"),
        ({**link("HUSHPRICE"), "HUSHPRICE_PROT": "1"}, "HUSHPRICE_PROT"),
        ({**link("HUSHPRICE"), "HUSHPRICE_PORT": "many"}, "port"),
        ({**link("HUSHPRICE"), "HUSHPRICE_PORT_HTTP": "1"}, "HUSHPRICE_PORT_HTTP"),
        ({**link("HUSHPRICE_OPERATOR"), "HUSHPRICE_PORT": "tcp://10.0.0.7:8787"}, "port"),
    ],
)
def test_what_is_not_the_whole_of_a_link_is_a_misspelt_setting(given: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        read(None, given, {})
