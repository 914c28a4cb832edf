"""Mistakes in market files: each is refused in one line that names the field and the value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.simulation.market_file import load_market

DEMAND = '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.2, 0.3]\n'


def refusal(folder: Path, text: str) -> str:
    """The message of the refusal, which names the file and is one line."""
    file = folder / "shop.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_market(file)
    message = str(caught.value)
    assert "shop.toml" in message
    assert len(message.splitlines()) == 1
    return message


def with_contexts(lines: str) -> str:
    return f"{DEMAND}[contexts]\ndimension = 2\n{lines}\n"


BAD_DEMAND = {
    "theta = [nan, 0.1, 0.2]": ("theta[0]", "nan"),
    "theta = [0.1, inf, 0.2]": ("theta[1]", "inf"),
    "theta = [0.9, 0.9, 0.0]": ("theta", "1.27"),
    "theta = [0.9, 0.1]": ("theta", "(2,)"),
    'theta = [0.1, "x", 0.2]': ("demand.theta[1]", "'x'"),
    "theta = 3": ("demand.theta", "3"),
    "slope = nan": ("slope", "nan"),
    "slope = -1.0": ("slope", "-1.0"),
    'slope = "steep"': ("demand.slope", "'steep'"),
    "slope = true": ("demand.slope", "True"),
    "bound = 0.5": ("bound", "0.5"),
    "noise = 0.1": ("demand.noise", "0.1"),
    'family = "probit"': ("demand.family", "'probit'"),
    'family = "gaussian"\nslope = inf': ("slope", "inf"),
    'family = "gaussian"\nslope = 0.0': ("slope", "0.0"),
    'family = "gaussian"\nslope = 4.0\nnoise = 0.4': ("demand.noise", "0.4"),
    'family = "gaussian"\nslope = 4.0\nnoise = nan': ("demand.noise", "nan"),
    "colour = 3": ("demand", "`colour`"),
}


@pytest.mark.parametrize("line", BAD_DEMAND)
def test_bad_demand_is_refused_by_name_and_value(tmp_path: Path, line: str) -> None:
    keys = {'family = "logistic"', "theta = [0.1, 0.2, 0.3]"}
    kept = [each for each in sorted(keys) if not line.startswith(each.split(" =")[0])]
    message = refusal(tmp_path, "\n".join(["[demand]", *kept, line, "[contexts]", "dimension = 2"]))
    for part in BAD_DEMAND[line]:
        assert part in message


BAD_CONTEXTS = {
    'kind = "foo"': ("contexts.kind", "'foo'"),
    "kind = 3": ("contexts.kind", "3"),
    'kind = "file"': ("contexts.path", "none"),
    'kind = "file"\npath = "absent.csv"': ("contexts.path", "absent.csv"),
    'kind = "file"\npath = "."': ("contexts.path", "directory"),
    'kind = "file"\npath = "outside.csv"': ("contexts.path row 2, entry 1", "1.5"),
    'kind = "file"\npath = "hole.csv"': ("contexts.path row 1, entry 2", "nan"),
    'kind = "file"\npath = "typo.csv"': ("contexts.path", "'0.2x'"),
    'kind = "file"\npath = "ragged.csv"': ("contexts.path", "ragged.csv"),
    'kind = "file"\npath = "wide.csv"': ("contexts.path", "(1, 3)"),
    'kind = "file"\npath = "empty.csv"': ("contexts.path", "empty.csv"),
    'kind = "file"\npath = "header.csv"': ("contexts.path", "header.csv"),
    'kind = "file"\npath = "junk.parquet"': ("contexts.path", "junk.parquet"),
    'kind = "file"\npath = "junk.npy"': ("contexts.path", "junk.npy"),
    'kind = "file"\npath = "flat.npy"': ("contexts.path", "(4,)"),
    'kind = "file"\npath = "complex.npy"': ("contexts.path", "complex.npy"),
    'path = "rows.csv"': ("contexts.path", "'uniform'"),
    "weights = [0.5, 0.5]": ("contexts.weights", "'uniform'"),
    "correlation = 0.5": ("contexts.correlation", "'uniform'"),
    'kind = "segments"\nweights = [0.5, 0.4]': ("contexts.weights", "[0.5, 0.4]"),
    'kind = "segments"\nweights = [1.5, -0.5]': ("contexts.weights", "[1.5, -0.5]"),
    'kind = "segments"\nweights = [nan, 1.0]': ("contexts.weights[0]", "nan"),
    'kind = "segments"\nweights = []': ("contexts.weights", "[]"),
    'kind = "segments"\nweights = [0.5, 0.5]\npoints = [[0, 0]]': ("contexts.points", "1"),
    'kind = "segments"\npoints = [[0, 0], [0, 2]]': ("contexts.points row 2, entry 2", "2.0"),
    'kind = "segments"\npoints = [[0, 0], [0]]': ("contexts.points", "[[0.0, 0.0], [0.0]]"),
    'kind = "gaussian"\ncorrelation = nan': ("contexts.correlation", "nan"),
    'kind = "gaussian"\ncorrelation = 1.0': ("contexts.correlation", "1.0"),
    'kind = "gaussian"\ncorrelation = -1.0': ("contexts.correlation", "-1.0"),
    'colour = "red"': ("contexts", "`colour`"),
}


@pytest.mark.parametrize("lines", BAD_CONTEXTS)
def test_bad_contexts_are_refused_by_name_and_value(tmp_path: Path, lines: str) -> None:
    files = {
        "outside": "0,0\n1.5,0\n",
        "hole": "0,nan\n",
        "typo": "0.1,0.2x\n0.3,0.4\n",
        "ragged": "0.1,0.2\n0.3\n",
        "wide": "0,0,0\n",
        "empty": "",
        "header": "age,visits\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "junk.parquet").write_bytes(b"PAR1 but not really")
    (tmp_path / "junk.npy").write_bytes(b"not an array")
    np.save(tmp_path / "flat.npy", np.zeros(4))
    np.save(tmp_path / "complex.npy", np.zeros((2, 2), dtype=complex))
    message = refusal(tmp_path, with_contexts(lines))
    for part in BAD_CONTEXTS[lines]:
        assert part in message


BAD_FILES = {
    "[demand": ("end of document",),
    "": ("`demand`",),
    DEMAND: ("`contexts`",),
    "[contexts]\ndimension = 2\n[demand]\ntheta = [0.1]": ("demand", "`family`"),
    DEMAND + "[contexts]\n": ("contexts", "`dimension`"),
    DEMAND + "[contexts]\ndimension = -1\n": ("contexts.dimension", "-1"),
    DEMAND + "[contexts]\ndimension = 2.5\n": ("contexts.dimension", "2.5"),
    DEMAND + "[contexts]\ndimension = 99999999999999999999\n": ("theta", "(3,)"),
    with_contexts('[features]\nmap = "cubic"'): ("features.map", "'cubic'"),
    with_contexts("[prices]\nlow = 1"): ("`prices`",),
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_broken_file_is_refused_with_the_place(tmp_path: Path, text: str) -> None:
    message = refusal(tmp_path, text)
    for part in BAD_FILES[text]:
        assert part in message


def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.toml", ".", "binary.toml"):
        with pytest.raises(InvalidInput) as caught:
            load_market(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
