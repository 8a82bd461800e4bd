# SPDX-License-Identifier: GPL-2.0-or-later
"""After a reset of the machine during writes, the history is sound and has what was stored."""

import json
import sqlite3

import pytest

from service import PATIENCE, RESULT, ask, past_drops, seconds, until
from traffic import sent_until

SLACK = 0.5  # seconds
BEHIND = 10  # seconds
FACTS = RESULT / "facts.json"
pytestmark = pytest.mark.skipif(
    not FACTS.exists(), reason="this guest was not reset: --prepare=tests/vm/systemd/prepare")


@pytest.fixture(scope="module")
def facts():
    facts = json.loads(FACTS.read_text())
    # The load's last line is the last moment that is known of the boot before.
    last = (RESULT / "sent").read_text().splitlines()[-1].split()
    return facts | {"reset": float(last[0]), "sent": int(last[1])}


def test_it_was_writing(facts):
    """The test proves something only if many rows were written at that moment."""
    assert facts["seen_writing"]
    assert facts["intervals"] >= 5 and facts["causes"] >= 100
    assert facts["sent"] > 1000
    # Written up to the end, an interval of a second at a time.
    assert facts["reset"] - facts["written"] < 30


def test_the_file_is_sound(facts):
    with sqlite3.connect("file:/var/lib/netflowd/history.db?mode=ro", uri=True,
                         timeout=30 * PATIENCE) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    # The boot started netflowd, maybe a moment ago.
    history = until(lambda: ask("status")["history"], lambda now: now["state"] != "starting")
    # It is the same file: nothing was set aside.
    assert history["state"] == "writing" and "set_aside" not in history
    assert seconds(history["oldest"]) <= facts["known_from"]


def gap_of(facts, reply):
    """The gap over the reset, as seconds since 1970."""
    gaps = [(seconds(gap["from"]), seconds(gap["to"])) for gap in reply["period"]["gaps"]]
    found = [gap for gap in gaps if gap[0] <= facts["reset"] + 1 < gap[1]]
    assert len(found) == 1, (gaps, facts)
    return found[0]


def sent(moment):
    return sent_until(RESULT / "sent", moment)


def test_the_drops_before_it(facts):
    """All that netflowd had reported as written is there, and nothing is there twice."""
    found, _ = past_drops(facts["known_from"], facts["reset"] + 1)
    assert found >= facts["known"] + sent(facts["written"])
    assert found <= facts["known"] + facts["sent"] + facts["causes"]


def test_the_gap_is_named(facts):
    """What is there was sent before the gap, to the round of the load; what is not, after."""
    found, reply = past_drops(facts["known_from"])
    begin, end = gap_of(facts, reply)
    # A reading of the counters takes some time in an emulated machine.
    least, most = (facts["known"] + sent(begin + off) for off in (-SLACK, SLACK))
    assert least - facts["causes"] <= found <= most + facts["causes"], (least, found, most)
    # The intervals are of a second; an emulated machine may be a few behind.
    assert facts["written"] - 0.1 <= begin and facts["reset"] - begin < BEHIND
    # Until this boot started netflowd.
    assert end > facts["reset"] + 1
