"""What a kernel is compiled for: everything that stays the same for all trials of a market, known to the compiler."""

from __future__ import annotations

from typing import NamedTuple

from hushprice.simulation.room import World


class Shape(NamedTuple):
    """One set of kernels. Branches on these cost nothing, and rooms of a known size stay in registers."""

    dimension: int
    contexts: int
    family: int
    map: int
    stream: int
    single: bool


def shape_of(world: World, single: bool) -> Shape:
    """The kernels that this market needs."""
    sizes = world.theta.size, world.stream.size
    return Shape(int(sizes[0]), int(sizes[1]), int(world.family), int(world.map), int(world.stream.kind), single)
