"""Digests of customers' keys against SipHash's published vector, a slow twin and Python's own hash."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import polars
import pytest

from hushprice.errors import InvalidInput
from hushprice.logs.digest import check_key, digests, new_key, sip

KEY = bytes(range(16))
MASK = (1 << 64) - 1


def slow_sip(message: bytes, key: bytes, rounds: tuple[int, int]) -> int:
    """SipHash as its paper defines it, a message at a time."""
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    a, b, c, d = (start ^ part for start, part in zip(
        (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573), (low, high, low, high),
        strict=True))  # fmt: skip

    def turned(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (64 - bits))) & MASK

    def mix() -> None:
        nonlocal a, b, c, d
        a, c = (a + b) & MASK, (c + d) & MASK
        b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
        a = turned(a, 32)
        c, a = (c + b) & MASK, (a + d) & MASK
        b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
        c = turned(c, 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        d ^= word
        for _ in range(rounds[0]):
            mix()
        a ^= word
    c ^= 0xFF
    for _ in range(rounds[1]):
        mix()
    return a ^ b ^ c ^ d


def test_the_published_vector_of_siphash_2_4_is_met() -> None:
    message = bytes(range(15))  # appendix A of the paper
    assert slow_sip(message, KEY, (2, 4)) == 0xA129CA6149BE45E5
    found = sip(np.frombuffer(message, dtype=np.uint8), np.array([15]), KEY, (2, 4))
    assert int(found.view(np.uint64)[0]) == 0xA129CA6149BE45E5


def test_texts_of_every_length_have_the_digest_of_the_slow_twin() -> None:
    rng = np.random.default_rng(3)
    texts = ["", "é" * 5, "x" * 300, *("".join(map(chr, rng.integers(33, 126, size))) for size in range(40))]
    expected = [slow_sip(text.encode(), KEY, (1, 3)) for text in texts]
    assert digests(polars.Series(texts), KEY).view(np.uint64).tolist() == expected


@pytest.mark.parametrize("kind", [polars.Int64, polars.Int32, polars.UInt64])
def test_whole_numbers_are_hashed_as_their_eight_bytes_whatever_their_type(kind: type[polars.DataType]) -> None:
    numbers = [0, 1, 2**31 - 1]
    expected = [slow_sip(number.to_bytes(8, "little"), KEY, (1, 3)) for number in numbers]
    assert digests(polars.Series(numbers, dtype=kind), KEY).view(np.uint64).tolist() == expected


def test_python_hashes_bytes_the_same_way() -> None:
    """With PYTHONHASHSEED=0 its key is 0; it takes SipHash-1-3 from 3.11 on, and shows -2 for -1."""
    if sys.hash_info.algorithm != "siphash13":
        pytest.skip("this Python hashes another way")
    texts = ["customer-17", "a", "abcdefgh", "abcdefghi"]
    code = f"print([hash(text.encode()) for text in {texts!r}])"
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert digests(polars.Series(texts), bytes(16)).tolist() == eval(answer.stdout)


@pytest.mark.beyond_coverage
def test_another_key_gives_other_digests_and_long_columns_are_cut_without_a_seam() -> None:
    numbers = polars.Series(range(70_000))
    ours = digests(numbers, KEY)
    assert np.unique(ours).size == 70_000
    assert not (ours == digests(numbers, new_key())).any()
    assert (digests(numbers.slice(65_000, 1_000), KEY) == ours[65_000:66_000]).all()


def test_a_key_of_another_length_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidInput, match=r"^key must be 16 bytes, got 'bytes'$"):
        check_key(b"secret")
