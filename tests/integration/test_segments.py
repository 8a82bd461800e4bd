# SPDX-License-Identifier: GPL-2.0-or-later
"""Each segment: the test adds a known delay, and finds it within 5 % or 1 ms in the histogram's
maximum and in a latency record that shows the segment."""

import statistics
import time

import pytest

from lab import attempts, backends, delay, journeys, patience, sockets, waiting

PORT = 7777
# Well above the delays of a busy machine, well below those that the tests make.
SLOW = f"latency.slow={patience.milliseconds(15)}ms"

pytestmark = [pytest.mark.alone, pytest.mark.shared(*journeys.NONE, SLOW),
              pytest.mark.usefixtures("bpf")]


# In an emulated machine a shaper's timer fires late, never early.
SHAPER_LATE_NS = 4 * patience.CLOCK_NS if patience.FACTOR > 1 else 0


def close_to(measured_ns, expected_ns):
    """Within 5 % or 1 ms."""
    return abs(measured_ns - expected_ns) <= max(0.05 * expected_ns, patience.CLOCK_NS)


@pytest.fixture
def two_cpus():
    if not delay.two_cpus():
        pytest.skip("one CPU: the sender cannot run beside the task that keeps the CPU busy")


@pytest.fixture
def can_stall(two_cpus):
    if not delay.can_stall():
        pytest.skip("BPF_PROG_TEST_RUN keeps softirqs off on 6.18 and later only: cannot stall "
                    "them")


def slow_record(daemon, device, outcome):
    """The one record; there must not be another, because nothing but the test was slow."""
    records = journeys.wait_for(daemon, 1, device, outcome)
    assert len(records) == 1, [(r["total_ns"], r["flow"]) for r in records]
    record = records[0]
    journeys.check(record)
    assert record["slow"] is True
    return record


def check_histogram(daemon, device, segment, direction, expected_ns):
    latency = waiting.until(lambda: journeys.histogram(daemon, device, segment, direction), bool)
    assert latency, f"no {segment} of {device.name}"
    assert close_to(latency["max_ns"], expected_ns), (latency["max_ns"], expected_ns)


# ---- receive ----------------------------------------------------------------


@pytest.mark.simultaneous
def test_softirq_wait(start, silent_pair, can_stall):
    """The CPU that receives serves no softirqs until a known moment."""
    pair = silent_pair
    delay.receive_on(pair.right_device, 1)

    def attempt():
        daemon = start(*journeys.NONE, SLOW)
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
            with delay.on_cpu(0), delay.Stall(1, patience.milliseconds(40)) as stall:
                until = stall.begin()
                sent = time.monotonic_ns()
                sender.send(b"x" * 100)
                stall.wait()
            reader.recv(1000)
            attempts.need(until - sent > 25 * patience.CLOCK_NS, "the stall was nearly over")
            return daemon, until - sent, slow_record(daemon, pair.right_device, "delivered")

    daemon, expected, record = attempts.valid(attempt)
    wait = journeys.between(record, "softirq_raise", "softirq_entry")
    assert close_to(wait, expected), (wait, expected)
    assert record["dominant"] == "raise_to_softirq"
    check_histogram(daemon, pair.right_device, "raise_to_softirq", "rx", expected)
    softnet = daemon.call("GetNapi")["cpus"][1]
    assert softnet["cpu"] == 1
    # Another packet of the host may have come earlier in the stall.
    assert waiting.between(softnet["wait_max_ns"], expected, patience.milliseconds(40) * 1e6)


@pytest.mark.simultaneous
def test_softirq_wait_is_not_longer_than_the_packet_lived(start, silent_pair, can_stall):
    """Packets arrive while the softirq already waits: the wait of each begins at its arrival."""
    pair = silent_pair
    delay.receive_on(pair.right_device, 1)

    def attempt():
        daemon, sent = start(*journeys.EVERY), []
        with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
            with delay.on_cpu(0), delay.Stall(1, patience.milliseconds(45)) as stall:
                until = stall.begin()
                for i in range(5):
                    sent.append(time.monotonic_ns())
                    sender.send(bytes([i]) * 10)
                    time.sleep(patience.seconds(0.006))
                attempts.need(time.monotonic_ns() < until, "sending took longer than the stall")
                stall.wait()
            for _ in sent:
                reader.recv(1000)
            read = time.monotonic_ns()
            return sent, read, journeys.wait_for(daemon, 5, pair.right_device, "delivered")

    sent, read, records = attempts.valid(attempt)
    assert len(records) == 5
    for began, record in zip(sent, records):
        journeys.check(record, lived_ns=read - began)


def wait_of_late_reader(pair, transport, version, sleep):
    """Send and read late; returns the Wait from the send to the read."""
    address = pair.right_address(version)
    with sockets.KINDS[transport](pair.left, pair.right, address, PORT) as (sender, reader), \
            delay.urgent():
        wait = waiting.Wait(lambda: sender.send(b"x" * 100))
        time.sleep(sleep)
        wait.end(lambda: reader.recv(1000))
        return wait


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.smoke
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("transport", sockets.KINDS)
def test_late_reader(daemon, pair, transport, version):
    wait = wait_of_late_reader(pair, transport, version, patience.seconds(0.040))
    record = slow_record(daemon, pair.right_device, "delivered")
    for begin in ("receive", "sock_queue"):
        assert wait.is_of(journeys.between(record, begin, "copy"))
    assert record["dominant"] == "sock_queue_to_copy"
    assert journeys.at(record, "wakeup") is None, "nobody was waiting"
    assert record["comparable"] is True, record["missing"]
    for segment in ("receive_to_copy", "rx_total"):
        check_histogram(daemon, pair.right_device, segment, "rx",
                        journeys.between(record, "receive", "copy"))


@pytest.mark.simultaneous
@pytest.mark.parametrize("transport", sockets.KINDS)
def test_reader_woken_on_a_busy_cpu(start, pair, two_cpus, transport):
    """The reader sleeps in recv; when it is woken, a SCHED_FIFO task has its CPU."""
    def attempt():
        daemon = start(*journeys.NONE, SLOW)
        with sockets.KINDS[transport](pair.left, pair.right, pair.RIGHT4, PORT) as (sender, socket):
            reader = delay.Reader(socket, 1)
            with delay.on_cpu(0), delay.Spinner(1, patience.milliseconds(40)) as spinner:
                reader.start_and_sleep()
                spinner.begin()
                sent = time.monotonic_ns()
                sender.send(b"x" * 100)
                end = spinner.end()
            reader.join(timeout=patience.seconds(10))
            assert reader.message == b"x" * 100
            attempts.need(end - sent > 25 * patience.CLOCK_NS, "the CPU was busy no longer")
            attempts.need(reader.read_ns - end < 10 * patience.CLOCK_NS,
                          "the reader ran late, or others had its CPU")
            record = slow_record(daemon, pair.right_device, "delivered")
            return daemon, reader, sent, end - sent, record

    daemon, reader, sent, expected, record = attempts.valid(attempt)
    wait = journeys.between(record, "wakeup", "run")
    # It cannot run before the spinner ends, nor read before it runs.
    assert close_to(wait, expected) or expected < wait < reader.read_ns - sent, (wait, expected)
    assert journeys.between(record, "sock_queue", "wakeup") < patience.CLOCK_NS
    assert journeys.between(record, "run", "copy") < patience.CLOCK_NS
    assert record["dominant"] == "wakeup_to_run"
    assert record["comparable"] is True, record["missing"]
    assert record["task"]["tid"] == reader.tid
    check_histogram(daemon, pair.right_device, "wakeup_to_run", "rx", wait)


@pytest.mark.needs("wake", "sk_data_ready")
@pytest.mark.smoke
def test_reader_woken_beside_a_capture(start, silent_pair):
    """A packet socket gets a clone first, and wakes its own reader: neither is part of the path."""
    pair = silent_pair
    backends.skip_without_switches(0)
    daemon = start(*journeys.EVERY)
    with sockets.packet(pair.right_device) as tap, \
            sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, socket):
        reader, tapper = delay.Reader(socket, 0), delay.Reader(tap, 0)
        tapper.start_and_sleep()
        reader.start_and_sleep()
        sender.send(b"x" * 100)
        reader.join(timeout=patience.seconds(10))
        tapper.join(timeout=patience.seconds(10))
    assert len(tapper.message) == 14 + 20 + 8 + 100
    (record,) = journeys.to_port(
        journeys.wait_for(daemon, 1, pair.right_device, "delivered", filter="udp"), PORT)
    journeys.check(record)
    assert {"sock_queue", "wakeup", "run", "copy"} <= set(journeys.names(record))
    assert record["task"]["tid"] == reader.tid


# ---- transmit, forward ------------------------------------------------------

COUNT, PAYLOAD, BURST = 40, 1000, 2000
RATE = round(1_000_000 / patience.FACTOR)  # bytes per second
THRESHOLD_MS = patience.milliseconds(20)
LENGTH = PAYLOAD + 8 + 20 + 14


def shape(device):
    """Limit the device to RATE with a burst of 2000 bytes, so that the test can compute when each
    packet leaves.  Without IPv6, whose reports of multicast groups would pass the shaper, too."""
    device.namespace.sysctl(**{f"net.ipv6.conf.{device.name}.disable_ipv6": 1})
    device.namespace.run("tc", "qdisc", "add", "dev", device.name, "root", "handle", "1:", "tbf",
                         "rate", f"{RATE * 8}bit", "burst", BURST, "limit", "200000")


def delays_of_shaper(arrivals_ns=(0,) * COUNT):
    """The ns that each packet waits in the token bucket, from the ns of its arrival there."""
    tokens, last, delays = float(BURST), arrivals_ns[0], []
    for arrival in arrivals_ns:
        now = max(arrival, last)
        tokens = min(BURST, tokens + (now - last) * RATE / 1e9)
        leaves = now + max(0, LENGTH - tokens) * 1e9 / RATE
        tokens += (leaves - now) * RATE / 1e9 - LENGTH
        delays.append(leaves - arrival)
        last = leaves
    return delays


def check_shaped(daemon, device, outcome, direction, total_begins):
    """Check that every packet has the delay of its position in the queue; returns the records.
    The attempt is not valid if a packet waited for longer than the shaper's rate says, because on
    a busy machine its timer fires late, or if the shaper had a packet of the kernel's own."""
    records = journeys.to_port(journeys.wait_for(daemon, COUNT, device, outcome,
                                                 filter="udp dst port 9"), 9)
    records = [r for r in records if backends.is_about(r["devices"][-1], device)]
    passed = device.qdisc("tbf")["packets"]
    attempts.need(passed == COUNT, f"the shaper had {passed} packets")
    assert len(records) == COUNT
    assert device.qdisc("tbf")["drops"] == 0
    records.sort(key=queued_ns)
    expected = delays_of_shaper([queued_ns(r) for r in records])
    longest = 0
    for record, wait in zip(records, expected):
        journeys.check(record)
        measured = journeys.between(record, "queue", "start_xmit")
        attempts.need(close_to(measured, wait) or measured < wait + SHAPER_LATE_NS,
                      f"the shaper held a packet for {measured} ns instead of {wait:.0f}")
        assert close_to(measured, wait) or measured > wait, (measured, wait)
        longest = max(longest, measured)
        assert record["comparable"] is True, record["missing"]
        assert names_from(record, total_begins)
        if wait > 2 * patience.CLOCK_NS:
            assert record["dominant"] == "queue_to_start_xmit"
    # All sent at once, as fast as it goes: the last one waited for all before it.
    attempts.need(max(expected) > 0.5 * max(delays_of_shaper()), "the packets came one by one")
    check_histogram(daemon, device, "queue_to_start_xmit", "tx", longest)
    total = {"tx": "tx_total", "fwd": "forward_total"}[direction]
    check_histogram(daemon, device, total, direction, longest)
    return records


def queued_ns(record):
    """The time at which the packet was queued, in ns; all records use the same clock."""
    queued = next(s["time"] for s in record["stages"] if s["stage"] == "queue")
    return journeys.nanoseconds_of(queued)


def names_from(record, first):
    names = journeys.names(record)
    return names[names.index(first):][-3:] == ["queue", "start_xmit", "xmit"]


@pytest.mark.simultaneous
def test_qdisc(start, lab):
    daemon = start(*journeys.EVERY)

    def attempt():
        pair = lab.pair(ipv6=False)
        shape(pair.left_device)
        pair.left.send_udp(pair.RIGHT4, 9, COUNT, "-s", PAYLOAD)
        return check_shaped(daemon, pair.left_device, "transmitted", "tx", "queue")

    records = attempts.valid(attempt)
    assert all(len(r["devices"]) == 1 for r in records)


def test_netem(start, silent_pair):
    """A qdisc of the kernel delays each packet by 30 ms."""
    pair, held, lived = silent_pair, 30e6, []
    try:
        pair.left.run("tc", "qdisc", "add", "dev", pair.left_device.name, "root", "netem",
                      "delay", "30ms")
    except RuntimeError as error:
        pytest.skip(f"this kernel has no sch_netem: {error}")
    daemon = start(*journeys.EVERY)
    with sockets.udp(pair.left, pair.right, pair.RIGHT4, PORT) as (sender, reader):
        for _ in range(COUNT):
            sent = time.monotonic_ns()
            sender.send(b"x" * 100)
            reader.recv(1000)
            lived.append(time.monotonic_ns() - sent)
    records = journeys.wait_for(daemon, COUNT, pair.left_device, "transmitted")
    assert len(records) == COUNT
    waits = sorted(journeys.between(r, "queue", "start_xmit") for r in records)
    # On a busy machine a timer fires late: then the packet did wait that long.
    assert close_to(statistics.median(waits), held), waits
    assert waits[0] >= held - 1e6
    assert all(wait <= most for wait, most in zip(waits, sorted(lived))), (waits, lived)
    assert all(r["dominant"] == "queue_to_start_xmit" for r in records)
    check_histogram(daemon, pair.left_device, "queue_to_start_xmit", "tx", waits[-1])


@pytest.mark.simultaneous
def test_paced_packets_are_slow_and_others_are_not(start, silent_pair):
    """Without samples, netflowd records only packets above the threshold."""
    pair = silent_pair
    daemon = start(*journeys.NONE, f"latency.slow=0,queue_to_start_xmit={THRESHOLD_MS}ms")
    threshold_ns = THRESHOLD_MS * 1e6
    shape(pair.left_device)
    pair.left.send_udp(pair.RIGHT4, 9, COUNT, "-s", PAYLOAD)
    latency = waiting.until(
        lambda: journeys.histogram(daemon, pair.left_device, "queue_to_start_xmit", "tx"),
        lambda found: found and found["count"] >= COUNT)
    assert latency["count"] == COUNT
    # The histogram has them too; a bucket may span the threshold.
    surely = sum(b["count"] for b in latency["buckets"] if b["from_ns"] > threshold_ns)
    maybe = sum(b["count"] for b in latency["buckets"] if b["below_ns"] > threshold_ns)
    records = journeys.wait_for(daemon, surely, pair.left_device, "transmitted")
    assert 0 < surely <= len(records) <= maybe
    assert all(r["slow"] for r in records)
    assert all(journeys.between(r, "queue", "start_xmit") > threshold_ns for r in records)


@pytest.mark.simultaneous
def test_forwarding(start, lab):
    """A router with a shaped output: one record from receive to xmit, with both devices."""
    def attempt():
        path = lab.path()
        shape(path.far_device)
        daemon = start(*journeys.EVERY)
        path.left.send_udp(path.RIGHT4, 9, COUNT, "-s", PAYLOAD)
        return daemon, path, check_shaped(daemon, path.far_device, "forwarded", "fwd", "receive")

    daemon, path, records = attempts.valid(attempt)
    for record in records:
        names = journeys.names(record)
        assert names[names.index("receive"):] == ["receive", "queue", "start_xmit", "xmit"]
        assert record["devices"] == [backends.description(path.near_device),
                                     backends.description(path.far_device)]
        assert record["more_devices"] is False
    assert journeys.to_port(records, 9) == records
    assert journeys.histogram(daemon, path.far_device, "receive_to_queue", "fwd")["count"] == COUNT
    # One record, not two: nothing of the router was delivered or begun a second time.
    other = [r for r in journeys.ask(daemon, path.near_device) if r["outcome"] != "forwarded"]
    assert not journeys.to_port(other, 9)
