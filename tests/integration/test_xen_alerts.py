# SPDX-License-Identifier: GPL-2.0-or-later
"""A rocket on a real xen-netfront fires one alert, which is logged, runs its program and resolves.
Runs in a guest of `tests/vm/run --xen` (make check-xen)."""

import pytest

from lab import rocket, waiting, xen
from lab.alerts import Changes, Journal, Program, Rules, alert, loads

PORT = 5001
EACH = 5

pytestmark = pytest.mark.skipif(not xen.here(), reason="no Xen here: make check-xen")

# The shipped rule with a different window.
RULE = """
[alert slot-overflow]
condition = slot_overflow
severity = critical
window = 10s
exec = {program}
exec_limit = 60s
"""


def test_one_alert(start, tmp_path):
    if not xen.has_frontend():
        xen.load_frontend()
    # A vif that only this test uses: other tests reload the driver, which ends their vifs.
    vif = xen.vif(6)
    rules, journal = Rules(tmp_path / "rules"), Journal(tmp_path / "journal")
    program = Program(tmp_path / "program",
                      'n=$(ls "$here" | grep -c "^json"); cat >"$here/json.$n"')
    rules.write("10.conf", RULE.format(program=program.path))
    daemon = start(rules.setting, command=journal.command)
    journal.socket.settimeout(60)

    def ride(slots):
        with rocket.reader(vif.peer, vif.peer_address, PORT, seconds=60) as end:
            sent = rocket.rocket(vif.host, vif.peer_address, PORT, slots, count=EACH)
            assert rocket.received(end, EACH) == [rocket.payload(one) for one in sent]

    for slots in (9, 17, 18):
        ride(slots)
    assert alert(daemon, "slot-overflow")["value"] == 0
    assert alert(daemon, "slot-overflow").get("unknown") is None
    with Changes(daemon) as changes:
        ride(19)
        ride(31)
        events = [changes.next(60), changes.next(60)]
        assert changes.none_for(3)
    assert [event["change"] for event in events] == ["fired", "resolved"]

    assert waiting.until(lambda: len(program.files("json")), lambda n: n == 2, 30) == 2
    assert [loads(path)["change"] for path in program.files("json")] == ["fired", "resolved"]
    entries = [journal.next(), journal.next()]
    assert [entry["NETFLOWD_CHANGE"] for entry in entries] == ["fired", "resolved"]
    assert entries[0]["PRIORITY"] == "2"

    after = alert(daemon, "slot-overflow")
    assert after["state"] == "resolved" and after["fired"] == 1
    # All rockets, also those after the alert fired.
    shown = after["evidence"]["slots"]
    assert {(record["outcome"], record["xen"]) for record in shown} == {("linearized", True)}
    assert {record["slots"] for record in shown} <= {19, 31}
    assert vif.name in daemon.netflowctl("alerts").stdout
