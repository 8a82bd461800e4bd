# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `netflowctl report`: its numbers are those of the other commands, a stranger's text
stays text, and a real browser shows it without overflow, faint text and empty boxes."""

import html.parser
import json
import os
import re

import pytest

from lab import browser, clock, paths, waiting

SENT = 421
FAST = "history.interval=1s"
# 2026-03-01 00:00 UTC, on a boundary of every resolution.
BEGIN = 1772323200
# Half the words of this name are markup for a browser that is careless.
STRANGER = "<b>&\"'x"

TAGS = """html head meta title style body header main footer nav a section h1 h2 h3 h4 p b code pre
    ul li div span table thead tbody tr th td details summary figure figcaption svg g rect path"""

# What the browser finds wrong with the page; each function returns a list.
OVERFLOW = """
[...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') && !e.closest('svg')
    && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.outerHTML.slice(0, 120))
  .concat(document.documentElement.scrollWidth > document.documentElement.clientWidth
    ? ['the page scrolls sideways'] : [])
"""
EMPTY = """
[...document.querySelectorAll('section, tbody, svg, ul, p, pre, h2, h3, h4, th, figure')]
  .filter(e => !(e.tagName === 'svg' || e.tagName === 'FIGURE' ? e.querySelector('rect, path')
    : e.textContent.trim())).map(e => e.outerHTML.slice(0, 120))
"""
# WCAG 2.1: the ratio of the luminances, at least 4.5 for text.
CONTRAST = """
(() => {
  const channel = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = rgb => rgb.slice(0, 3).map(c => channel(c / 255))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const read = text => text.match(/[\\d.]+/g).map(Number);
  const back = e => {
    for (; e; e = e.parentElement) {
      const rgb = read(getComputedStyle(e).backgroundColor);
      if (rgb.length < 4 || rgb[3] > 0) return rgb;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('body *')].filter(e => !e.closest('svg')
      && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => {
      const [a, b] = [luminance(read(getComputedStyle(e).color)), luminance(back(e))];
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 100)];
    }).filter(([ratio]) => ratio < 4.5);
})()
"""
LOADED = "performance.getEntriesByType('resource').map(e => e.name)"


class Page(html.parser.HTMLParser):
    """The tables of a page by their label: lists of rows, a dict each; and all of its text."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.tags, self.text = {}, [], ""
        self._rows = self._titles = self._cell = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if attributes.get("class") == "wide":
            self._rows = self.tables[attributes["aria-label"]] = []
            self._titles = []
        elif tag == "tr" and self._titles:
            self._rows.append({})
        elif tag in ("th", "td"):
            self._cell = ""

    def handle_endtag(self, tag):
        if tag == "th":
            self._titles.append(self._cell)
        elif tag == "td":
            row = self._rows[-1]
            row[self._titles[len(row)]] = self._cell
        if tag in ("th", "td"):
            self._cell = None

    def handle_data(self, data):
        self.text += data
        if self._cell is not None:
            self._cell += data


def number(text):
    return int(text.replace(",", ""))


def write(daemon, path, *arguments, **kwargs):
    done = daemon.netflowctl("report", "--html", path, *arguments, **kwargs)
    assert done.returncode == 0 and not done.stderr, done.stderr
    text = path.read_text(encoding="utf-8")
    assert not list(path.parent.glob(f"{path.name}.*"))
    return Page(text)


def reason_of(row):
    """As the page names it.  Several causes can remain; these tests make no more than two."""
    candidates = " or ".join(candidate["reason"] for candidate in row.get("candidates", []))
    if "reason" not in row:
        return candidates or "-"
    return row["reason"] + (": " * bool(candidates) + candidates) + " (inferred)" * row["inferred"]


def reply(daemon, *arguments):
    done = daemon.netflowctl(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written(daemon, count):
    before = daemon.status()["history"]["intervals"]
    assert waiting.until(lambda: daemon.status()["history"]["intervals"] >= before + count, bool)


@pytest.mark.alone
@pytest.mark.portable
def test_numbers_are_those_of_the_commands(start, silent_pair, tmp_path):
    """A period that is over: drops, the timeline and latency agree to the unit.  The history is
    written at whole seconds of the clock: one stands still shortly before them, so that this takes
    a tenth of a second."""
    pair, host, sent = silent_pair, clock.Clock(tmp_path, BEGIN - 0.1), 0
    daemon = start(FAST, history=tmp_path / "history", environment=host.environment)
    # Each bucket of 10 s has other drops.
    for count, begun in ((SENT, BEGIN), (33, BEGIN + 10)):
        host.advance(begun + 0.9)
        clock.written(daemon, host.now)
        sent += pair.left.send_udp(pair.RIGHT4, 9, count)
        assert waiting.settled(lambda: daemon.dropped(pair.right_device, "ipv4/udp"), sent) == sent
        host.advance(begun + 9.9)
        clock.written(daemon, host.now)
    host.advance(BEGIN + 20.1)
    clock.written(daemon, host.now)
    period = ("--since", clock.text(BEGIN), "--until", clock.text(BEGIN + 20))
    page = write(daemon, tmp_path / "report.html", *period)

    drops = reply(daemon, "drops", "--by", "reason", *period)
    assert drops["packets"] >= SENT + 33
    rows = page.tables["drops by reason"]
    assert [(row["reason"], number(row["packets"])) for row in rows] == \
        [(reason_of(row), row["packets"]) for row in drops["rows"]]
    cells = page.tables["drops over time"]
    assert sum(number(cell["packets"]) for cell in cells) == drops["packets"]
    assert len(cells) == 2
    for name in [row["reason"] for row in rows][:5]:
        assert sum(number(cell[name]) for cell in cells) == \
            next(row["packets"] for row in drops["rows"] if reason_of(row) == name)
    if daemon.knows_reasons():
        by_cell = [number(cell["NO_SOCKET"]) for cell in cells]
        assert by_cell == [SENT, 33]
    place, = [row for row in page.tables["drops by location, device, protocol and namespace"]
              if row["device"] == pair.right_device.name]
    assert number(place["packets"]) == sent

    latency = reply(daemon, "latency", "--by", "segment", *period)["segments"]
    shown = page.tables["latency by segment"]
    assert [number(row["count"]) for row in shown] == [row["count"] for row in latency]
    assert not any(row["segment"].startswith("\\x") for row in shown)
    host.close()


def test_a_stranger_s_text_stays_text(start, lab, tmp_path):
    """A device whose name is markup is shown as it is, also in the C locale."""
    pair = lab.pair()
    pair.right.ip("link", "set", pair.right_device.name, "down")
    pair.right.ip("link", "set", pair.right_device.name, "name", STRANGER)
    pair.right.ip("link", "set", STRANGER, "up")
    daemon = start(FAST, history=tmp_path / "history")
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    written(daemon, 2)
    path = tmp_path / "report.html"
    page = write(daemon, path, env={**os.environ, "LC_ALL": "C"})
    assert "→" in page.text
    assert any(row["device"] == STRANGER for row in
               page.tables["drops by location, device, protocol and namespace"])
    text = path.read_text(encoding="utf-8")
    assert "<b>&" not in text
    assert {tag for tag, _ in page.tags} <= set(TAGS.split())
    assert not any(name.startswith("on") or name in ("src", "style")
                   for _, attributes in page.tags for name in attributes)
    assert all(attributes["href"].startswith("#") for tag, attributes in page.tags if tag == "a")


def test_without_history(start, silent_pair, tmp_path):
    """No history, no timeline: the page says so; with --since the daemon says why."""
    daemon = start()
    silent_pair.left.send_udp(silent_pair.RIGHT4, 9, SENT)
    waiting.settled(lambda: daemon.dropped(silent_pair.right_device, "ipv4/udp"), SENT)
    page = write(daemon, tmp_path / "report.html")
    assert "There is no timeline" in page.text and "There is no history" in page.text
    done = daemon.netflowctl("report", "--html", tmp_path / "past.html", "--since", "1h")
    assert done.returncode == 1 and "no history" in done.stderr
    assert not (tmp_path / "past.html").exists()


def test_without_a_backend(start, tmp_path):
    """A ticket must not say that no packet was dropped where nothing could be counted."""
    daemon = start("history.interval=1s", "probes.backend=bpf", history=tmp_path / "history",
                   command=(paths.TOOLS / "deny_syscall", "bpf", "EPERM"))
    waiting.until(lambda: daemon.status()["history"]["intervals"], lambda n: n >= 1)
    page = write(daemon, tmp_path / "report.html")
    assert page.text.count("netflowd counted no dropped packet, but it did not see all") == 2
    assert "No packet was dropped" not in page.text and "the ledger is" not in page.text
    text = daemon.netflowctl("drops", "--since", "1h").stdout
    assert text.startswith("netflowd counted no dropped packet from ")
    assert re.search(r"unavailable (\w+, )*drops\b", text), text


def test_files(start, tmp_path):
    daemon = start()
    done = daemon.netflowctl("report", "--html", "-")
    assert done.returncode == 0 and done.stdout.startswith("<!DOCTYPE html>")
    assert done.stdout.endswith("</html>\n")
    path = tmp_path / "none" / "report.html"
    done = daemon.netflowctl("report", "--html", path)
    assert done.returncode == 1 and f"cannot write {path}: {os.strerror(2)}" in done.stderr
    assert daemon.netflowctl("report").returncode == 2
    assert daemon.netflowctl("report", "--html", "-", "--json").returncode == 2


@pytest.fixture
def chromium(tmp_path):
    if not browser.program():
        pytest.skip("no Chromium is installed")
    made = browser.Browser(tmp_path / "browser")
    yield made
    made.close()


def look(chromium, path, name):
    """The page on a desk, on a phone, in the dark, on paper."""
    for width, dark, media in ((1280, False, ""), (360, False, ""), (360, True, ""),
                               (1280, True, ""), (700, False, "print")):
        chromium.show(path, width, dark=dark, media=media)
        what = f"{name} {width} {'dark' if dark else 'light'} {media}"
        assert chromium.ask(OVERFLOW) == [], what
        assert chromium.ask(EMPTY) == [], what
        assert chromium.ask(CONTRAST) == [], what
        assert chromium.ask(LOADED) == [], what
        chromium.picture(path.parent / f"{what.replace(' ', '-').strip('-')}.png")
    chromium.print(path.parent / f"{name}.pdf")
    assert not chromium.errors


def test_in_a_browser(start, pair, chromium, tmp_path):
    daemon = start(FAST, "latency.sample_one_in=1", "latency.slow=1us",
                   history=tmp_path / "history")
    path = tmp_path / "report.html"
    write(daemon, path)
    look(chromium, path, "quiet")
    for _ in range(3):
        pair.left.send_udp(pair.RIGHT4, 9, SENT)
        written(daemon, 2)
    write(daemon, path)
    look(chromium, path, "drops")
    live = start()
    pair.left.send_udp(pair.RIGHT4, 9, SENT)
    waiting.settled(lambda: live.dropped(pair.right_device, "ipv4/udp"), SENT)
    write(live, path)
    look(chromium, path, "live")
