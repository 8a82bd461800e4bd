# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of the tables of faults."""

import typing


class Fault(typing.NamedTuple):
    """The unit test `test` must fail if `old` is `new` in `file`."""

    what: str
    test: str
    file: str
    old: str
    new: str
