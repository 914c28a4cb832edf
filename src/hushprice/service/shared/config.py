"""The service's settings: one TOML file, then environment variables, then flags; read once.

Secrets are wrapped (`secret.py`), and a key that nobody declared is refused by name: it may be a misspelt one.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from hushprice import checks
from hushprice.errors import InvalidInput, first_line
from hushprice.service.shared.logs import LogFormat
from hushprice.service.shared.secret import Secret
from hushprice.service.shared.service_links import service_links

PREFIX = "HUSHPRICE_"
# The client's own variables; a shop may run it beside the service in one environment.
_OF_THE_CLIENT = frozenset({"HUSHPRICE_URL", "HUSHPRICE_KEY"})

# A misspelt address of a database. As a file's name it would be shown, with the password in it.
_ADDRESS = re.compile(
    r"://|^postgres\w*(:|//)|:.*@|^\w*//.*[:@]|\b(password|passwd|pwd|user|host|dbname) *=", re.IGNORECASE
)

Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]


class Quotes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table [quotes]."""

    durable: bool = True  # answer a quote after it is stored; otherwise at once, and store it a moment later


class ServiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set. Names are those of the TOML file; HUSHPRICE_QUOTES_DURABLE is quotes.durable."""

    store: Secret = Secret("hushprice.db")  # a PostgreSQL address may hold a password
    learner_store: Secret | None = None  # PostgreSQL only: the learner's own address, where it differs
    host: str = "127.0.0.1"
    port: Port = 8787
    operator_host: str = "127.0.0.1"  # raw figures are there: the public address is not its default
    operator_port: Port = 8788
    role: Literal["all", "quoter", "learner"] = "all"
    open_page: bool = True  # may public figures be read without a key?
    rate_per_second: Annotated[float, msgspec.Meta(gt=0)] = 500.0  # requests a key
    connections: Annotated[int, msgspec.Meta(ge=2)] = 1000  # at once: without a key, with one, for outcomes alone
    log_format: LogFormat = "text"
    state_dir: str | None = None  # this machine's own files, apart from the store; see own_dir
    quotes: Quotes = Quotes()
    customer_secret: Secret | None = None  # environment only; otherwise it is in the keys file
    quoter_password: Secret | None = None  # environment only; for `--init`: what quoters log in to PostgreSQL with

    @property
    def postgres(self) -> bool:
        """Is the store a PostgreSQL database rather than a SQLite file?"""
        return _is_postgres(self.store)

    @property
    def learner_address(self) -> Secret:
        """Where the learner's side finds the store."""
        return self.store if self.learner_store is None else self.learner_store

    def beside_store(self, ending: str) -> Path:
        """A file of this machine that belongs to the store: `<sqlite file><ending>`, or one in state_dir."""
        if self.postgres:
            return Path(self.state_dir or ".", f"hushprice{ending}")
        return Path(f"{self.store.reveal()}{ending}")

    @property
    def own_dir(self) -> Path:
        """Where this machine notes what it has seen: away from the store, so that no backup sets both back."""
        if self.state_dir is not None:
            return Path(self.state_dir)
        base = os.environ.get("XDG_STATE_HOME", "")
        try:
            return Path(base if os.path.isabs(base) else Path.home() / ".local" / "state", "hushprice")
        except RuntimeError:
            raise InvalidInput("state_dir: this user has no home folder; set it to a folder that is kept") from None


_ENVIRONMENT_ONLY = {"customer_secret", "quoter_password"}
_SECRETS = {"store", "learner_store", *_ENVIRONMENT_ONLY}
_NAMES = {
    "store",
    "learner_store",
    "host",
    "port",
    "operator_host",
    "operator_port",
    "role",
    "open_page",
    "rate_per_second",
    "connections",
    "log_format",
    "state_dir",
}
NAMES = frozenset({*_NAMES, *_ENVIRONMENT_ONLY, "quotes.durable"})


def read(file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]) -> ServiceSettings:
    """The settings of this run. Flags that are None were not given.

    >>> read(None, {"HUSHPRICE_PORT": "9000"}, {"role": "quoter"}).port
    9000
    """
    merged = {**_from_file(file), **_from_environment(environment)}
    merged.update({name: value for name, value in flags.items() if value is not None})
    return build(merged)


def build(flat: Mapping[str, Any]) -> ServiceSettings:
    """Settings from names such as quotes.durable; texts are read as what the setting needs."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        table, _, key = name.rpartition(".")
        (nested.setdefault(table, {}) if table else nested)[key] = value
    try:
        settings = msgspec.convert(nested, ServiceSettings, strict=False, dec_hook=_wrap)
    except msgspec.ValidationError as problem:
        raise InvalidInput(_complaint(problem, flat)) from None  # the cause would show the value, of a secret too
    if not settings.postgres and is_address(settings.store.reveal()):
        raise InvalidInput("setting store: must be a file or postgresql://...")
    if settings.learner_store is not None and not (settings.postgres and _is_postgres(settings.learner_store)):
        raise InvalidInput("setting learner_store: must be postgresql://..., beside a store that is")
    return settings


def is_address(store: str) -> bool:
    """Is it meant as the address of a database, in which there may be a password?

    >>> is_address("postgres//me:secret@db/shop"), is_address("me:sec/ret@db"), is_address("shops/2026.db")
    (True, True, False)
    """
    return _ADDRESS.search(store) is not None


def _is_postgres(store: Secret) -> bool:
    return store.reveal().startswith(("postgresql://", "postgres://"))


def _wrap(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str) and value:
        return Secret(value)
    raise ValueError("Expected a text that is not empty")


def _complaint(problem: msgspec.ValidationError, flat: Mapping[str, Any]) -> str:
    """What is wrong with which setting. Its value too, unless that is a secret, or an address in the wrong place."""
    what, _, where = str(problem).partition(" - at `$.")
    name = where.rstrip("`")
    what = what[:1].lower() + what[1:]
    if name in flat and name not in _SECRETS and not is_address(str(flat[name])):
        what = f"{what.partition(', got ')[0]}, got {checks.shown(flat[name])}"
    return f"setting {name or '?'}: {what}"


def _from_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidInput(f"config file {str(file)!r} cannot be read: {first_line(problem)}") from None
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"config file {str(file)!r} is not TOML: {first_line(problem)}") from None
    flat: dict[str, Any] = {}
    for name, value in tables.items():
        flat.update(
            {f"{name}.{key}": inner for key, inner in value.items()} if isinstance(value, dict) else {name: value}
        )
    for name in flat:
        if name in _ENVIRONMENT_ONLY:
            raise InvalidInput(f"config file {str(file)!r}: {name} is a secret; give it as {variable(name)}")
        _check_known(name, name, f"config file {str(file)!r} has the unknown key")
    return flat


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {variable(name): name for name in NAMES}
    foreign = _OF_THE_CLIENT | service_links(environment)
    given = {key: value for key, value in environment.items() if key.startswith(PREFIX) and key not in foreign}
    for key in given:
        if key not in names:
            _check_known(key, key, "there is no setting for the environment variable", list(names))
    return {names[key]: value for key, value in given.items()}


def variable(name: str) -> str:
    """The environment variable of a setting.

    >>> variable("quotes.durable")
    'HUSHPRICE_QUOTES_DURABLE'
    """
    return PREFIX + name.upper().replace(".", "_")


def _check_known(name: str, quoted: str, what: str, known: list[str] | None = None) -> None:
    choices = sorted(NAMES) if known is None else known
    if name not in choices:
        near = difflib.get_close_matches(name, choices, n=1)
        raise InvalidInput(f"{what} {quoted!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
