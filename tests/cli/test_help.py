"""Help: quick, complete, with an example for every verb."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

from typer.main import get_command

from hushprice import __version__
from hushprice.cli import app
from hushprice.policies import POLICIES
from hushprice.shops.trials import STRATEGIES

HEAVY = ("numba", "scipy", "matplotlib", "polars", "numpy", "ray")


def test_help_imports_nothing_heavy() -> None:
    program = f"""
import sys
from hushprice.cli import app
verbs = (
    "simulate", "compare", "attack", "audit", "plan", "privacy", "certificate", "verify", "sweep", "theory", "reproduce"
)
for arguments in (["--help"], *([verb, "--help"] for verb in verbs), ["--version"]):
    app(arguments, standalone_mode=False)
print("heavy:", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_every_verb_has_help_with_an_example(call: Callable) -> None:
    verbs = {verb: each for verb, each in get_command(app).commands.items() if not each.hidden}  # type: ignore[attr-defined]
    known = "simulate compare attack audit plan privacy certificate verify sweep theory reproduce"
    assert set(known.split()) <= set(verbs)
    for verb in verbs:
        code, out, err = call(f"{verb} --help")
        assert (code, err) == (0, "")
        assert f"\n    hushprice {verb}" in out.partition("Examples:")[2]
        for option in verbs[verb].params:
            assert option.help or option.name == "help", f"--{option.name} of {verb} has no help"


def test_every_policy_of_the_list_is_named(call: Callable) -> None:
    (policy,) = [each for each in get_command(app).commands["simulate"].params if each.name == "policy"]  # type: ignore[attr-defined]
    assert policy.help.startswith(f"{', '.join(POLICIES)}, or module:Class; with a product ")
    told = set(re.findall(r"[\w-]+", policy.help.partition("with a product ")[2].partition(".")[0]))
    assert told - {"or", "a", "rival"} == set(STRATEGIES)


def test_the_command_alone_shows_its_help(call: Callable) -> None:
    code, out, err = call("")
    assert (code, err) == (0, "")
    assert "simulate" in out
    assert "compare" in out


def test_the_version_is_the_packages(call: Callable) -> None:
    assert call("--version") == (0, f"hushprice {__version__}\n", "")


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "hushprice", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert (done.stdout, done.stderr) == (f"hushprice {__version__}\n", "")
    command = [sys.executable, "-m", "hushprice", "privacy", "--epsilon", "-1"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
