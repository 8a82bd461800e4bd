# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree's own rules: which room may include which, who owns which library, the licence in every
file.

daemon → {control, export} → {sources, alert, http} → {varlink, cost, elsewhere, history} →
{json, metrics} → store → {rows, kernel} → core → common; backends reach only their own room, the
records that they share with the programs in the kernel, and some leaves.
"""

import pathlib
import re

import tree

# Directory of the including file → what it may include, as prefixes of the path in quotes.  The
# longest directory that matches counts.  A file may always include its own directory.
MAY_INCLUDE = {
    "bpf/": [],
    "common/": ["knowledge_table.h", "version_text.h"],
    # ---- the daemon, from the top down ----
    "daemon/": ["daemon/", "common/", "bpf/records.h"],
    "daemon/export/": ["daemon/http/", "daemon/metrics/", "daemon/store/", "daemon/probe/backend.h",
                       "daemon/process/loop.h", "daemon/process/worker.h", "common/",
                       "bpf/records.h"],
    "daemon/http/": ["daemon/process/loop.h", "daemon/process/unix_socket.h", "common/"],
    "daemon/control/": ["daemon/sources/", "daemon/varlink/", "daemon/alert/", "daemon/cost/",
                        "daemon/history/", "daemon/json/",
                        "daemon/store/", "daemon/rows/", "daemon/kernel/", "daemon/core/",
                        "daemon/probe/", "daemon/process/loop.h", "common/", "bpf/records.h",
                        "interface.h"],
    "daemon/sources/": ["daemon/varlink/call.h", "daemon/cost/", "daemon/elsewhere/",
                        "daemon/history/", "daemon/json/", "daemon/store/", "daemon/rows/",
                        "daemon/kernel/", "daemon/core/", "daemon/probe/backend.h",
                        "daemon/probe/probes.h", "common/", "bpf/records.h"],
    "daemon/varlink/": ["daemon/process/loop.h", "daemon/process/unix_socket.h", "common/"],
    "daemon/alert/": ["daemon/json/", "daemon/store/", "daemon/kernel/", "daemon/core/",
                      "daemon/probe/backend.h", "daemon/probe/probes.h", "daemon/process/helper.h",
                      "daemon/process/journal.h", "daemon/process/loop.h", "common/",
                      "bpf/records.h", "shipped_rules.h"],
    "daemon/history/": ["daemon/store/", "daemon/rows/", "daemon/kernel/",
                        "daemon/core/", "daemon/probe/backend.h", "daemon/probe/probes.h",
                        "daemon/process/loop.h", "daemon/process/steps.h",
                        "daemon/process/worker.h", "common/", "bpf/records.h"],
    "daemon/elsewhere/": ["daemon/kernel/", "daemon/process/loop.h", "daemon/process/worker.h",
                          "common/"],
    "daemon/cost/": ["daemon/kernel/", "daemon/probe/backend.h", "daemon/probe/probes.h",
                     "daemon/process/loop.h", "common/"],
    "daemon/metrics/": ["daemon/store/", "daemon/kernel/", "daemon/core/", "daemon/probe/backend.h",
                        "common/", "bpf/records.h"],
    "daemon/json/": ["daemon/rows/", "daemon/core/", "common/", "bpf/records.h"],
    "daemon/store/": ["daemon/rows/", "daemon/kernel/", "daemon/core/", "daemon/probe/backend.h",
                      "daemon/process/loop.h", "common/", "bpf/records.h"],
    "daemon/rows/": ["daemon/core/", "common/", "bpf/records.h"],
    "daemon/kernel/": ["daemon/core/", "daemon/process/loop.h", "common/"],
    "daemon/core/": ["common/", "bpf/records.h"],
    "daemon/correlator/": ["common/", "bpf/records.h", "bpf/softirq.h", "bpf/context.h",
                           "bpf/throttle.h", "bpf/ethertypes.h", "bpf/pages.h"],
    "daemon/probe/": ["daemon/core/names.h", "common/", "bpf/records.h"],
    "daemon/probe/bpf/": ["daemon/probe/", "daemon/core/names.h", "daemon/core/histogram.h",
                          "daemon/core/drop_sums.h", "common/", "bpf/records.h", "build/bpf/"],
    "daemon/probe/events/": ["daemon/probe/absent.h", "daemon/probe/backend.h",
                             "daemon/probe/probes.h", "daemon/correlator/", "daemon/core/",
                             "common/", "bpf/records.h"],
    "daemon/probe/replay/": ["daemon/probe/backend.h", "daemon/probe/events/", "daemon/correlator/",
                             "common/", "bpf/records.h"],
    "daemon/probe/tracefs/": ["daemon/probe/backend.h", "daemon/probe/exclusion.h",
                              "daemon/probe/kernel_types.h",
                              "daemon/probe/events/", "daemon/kernel/module_map.h",
                              "daemon/kernel/symbols.h",
                              "daemon/probe/probes.h", "daemon/correlator/", "common/",
                              "bpf/records.h"],
    "daemon/process/": ["common/"],
    "daemon/post/": ["common/"],
    # ---- the command line, from the top down ----
    "cli/command/": ["cli/", "common/"],
    "cli/live/": ["cli/show/", "cli/ask/", "cli/terminal/", "common/"],
    "cli/diff/": ["cli/show/", "cli/ask/", "cli/terminal/", "common/"],
    "cli/report/": ["cli/show/", "cli/ask/", "cli/terminal/", "common/", "report_style.h"],
    "cli/file/": ["cli/show/", "cli/ask/", "cli/terminal/", "common/"],
    "cli/show/": ["cli/ask/", "cli/terminal/", "common/"],
    "cli/ask/": ["cli/terminal/", "common/"],
    "cli/terminal/": ["common/"],
}

# Header of a library → the only files that may include it.
OWNERS = {
    r"bpf/(libbpf|bpf|btf|libbpf_.*)\.h":
        r"daemon/probe/(bpf/.*|kernel_types\.c)|tests/(bench|tools/preload)/.*|"
        r"tests/tools/age\.c",
    r"linux/bpf\.h": r"daemon/probe/bpf/.*|tests/(bench|tools)/.*",
    r"jansson\.h": r"(common/(json|export|rows|varlink)\.[ch]|cli/.*|daemon/post/.*|tests/.*"
                   r"|daemon/(json|varlink|sources|control|alert|history)/.*)",
    r"traceevent/.*": r"daemon/kernel/symbols\.c|daemon/probe/events/.*|"
                      r"tests/fuzz/fuzz_trace\.c|tests/unit/daemon/probe/events/.*|"
                      r"tests/fuzz/fuzz_subbuffer\.c|daemon/probe/tracefs/backend_tracefs\.c",
    r"trace-cmd/.*": r"daemon/probe/replay/(recording|cpu_data)\.c",
    r"tracefs/.*": r"daemon/probe/tracefs/(instance(_events)?|kprobes)\.c",
    r"systemd/sd-journal\.h": r"daemon/process/journal\.c",
    r"systemd/sd-event\.h": r"daemon/process/loop\.c",
    r"systemd/sd-daemon\.h": r"daemon/process/(loop|activation)\.c",
    r"pcap(/.*)?\.h": r"daemon/core/selection\.c",
    r"n?curses\.h": r"cli/terminal/screen\.[ch]",
    r"ini\.h": r"daemon/(configuration|alert/rules)\.c",
    r"sys/capability\.h": r"daemon/process/privilege\.c",
    r"sqlite3\.h": r"daemon/history/.*|tests/unit/daemon/history/.*",
    r"seccomp\.h": r"daemon/process/confine\.c",
    r"curl/.*": r"daemon/post/main\.c",
    r"microhttpd\.h": r"daemon/http/http\.c",
    r"cmocka\.h": r"tests/unit/test\.h",
}

LICENCE = "SPDX-License-Identifier: GPL-2.0-or-later"
# The licence's own text, a list that has no comments, recorded bytes, and what says nothing.
WITHOUT_LICENCE = re.compile(
    r"LICENSE|.*\.json|tests/fuzz/corpus/.*|\.gitattributes|.*/\.gitkeep|"
    r"debian/(changelog|control|copyright|source/format|.*\.(install|docs))")
TEXT_TO_READ = re.compile(r".*\.(md|txt|1|5|8)")


def includes():
    """(file, what it includes, whether in quotes)"""
    for name in tree.files():
        if name.endswith((".c", ".h")):
            for quote, what in re.findall(r'^\s*#\s*include\s*(["<])([^">]+)[">]', tree.read(name),
                                          re.MULTILINE):
                yield name, what, quote == '"'


def test_includes_run_one_way():
    wrong = []
    for name, what, quoted in includes():
        folder = max((f for f in MAY_INCLUDE if name.startswith(f)), key=len, default=None)
        own = str(pathlib.PurePath(name).parent) + "/"
        if not quoted or folder is None or what.startswith(own) or "/" not in what and \
                (tree.TOP / own / what).exists():
            continue
        if not what.startswith(tuple(MAY_INCLUDE[folder])):
            wrong.append(f"{name} includes {what}")
    assert not wrong, "\n".join(wrong)


def test_the_protocol_knows_nothing_of_netflowd():
    """Names of netflowd reach daemon/varlink as settings, from control."""
    assert not [name for name in tree.files() if name.startswith("daemon/varlink/")
                and "netflow" in tree.read(name).lower()]


def test_every_room_is_known():
    """A new directory of sources has its rule here and its line in CONTRIBUTING.md."""
    rooms = {str(pathlib.PurePath(name).parent) + "/" for name in tree.files()
             if name.startswith(("common/", "daemon/", "cli/")) and name.endswith((".c", ".h"))}
    assert rooms == set(MAY_INCLUDE) - {"bpf/"}
    table = re.findall(r"^\| `([a-z/]+/)` \|", tree.read("CONTRIBUTING.md"), re.MULTILINE)
    assert rooms | {"bpf/"} <= set(table)


def test_rooms_have_no_circles():
    """No room can reach itself through the others."""
    reach = {room: {other for other in MAY_INCLUDE
                    if other != room and other.startswith(tuple(allowed))}
             for room, allowed in MAY_INCLUDE.items()}
    for room, others in reach.items():
        seen, todo = set(), list(others)
        while todo:
            other = todo.pop()
            if other not in seen:
                seen.add(other)
                todo += reach[other]
        assert room not in seen, room


def test_each_library_has_one_owner():
    wrong = [f"{name} includes {what}"
             for name, what, quoted in includes() if not name.startswith("bpf/")
             and not name.endswith(".bpf.c")
             for library, owner in OWNERS.items()
             if not quoted and re.fullmatch(library, what) and not re.fullmatch(owner, name)]
    assert not wrong, "\n".join(wrong)


def test_the_shared_header_is_the_only_one():
    """Of bpf/, user space includes records.h and nothing else, except the programs' unit tests,
    and the correlator, which follows the same rules as the programs."""
    rules = {"bpf/softirq.h", "bpf/context.h", "bpf/throttle.h", "bpf/ethertypes.h",
             "bpf/pages.h"}
    wrong = [f"{name} includes {what}" for name, what, quoted in includes()
             if quoted and not name.startswith(("bpf/", "tests/unit/bpf/"))
             and not name.endswith(".bpf.c")
             and what.startswith("bpf/") and what != "bpf/records.h"
             and not (name.startswith("daemon/correlator/") and what in rules)]
    assert not wrong, "\n".join(wrong)


def test_every_header_is_guarded():
    for name in tree.files():
        if name.endswith(".h"):
            text = tree.read(name)
            guard = re.search(r"^#ifndef (\w+)\n#define \1$", text, re.MULTILINE)
            assert guard or "#pragma once" in text, name


def test_licence_in_every_file():
    without = [name for name in tree.files()
               if not WITHOUT_LICENCE.fullmatch(name) and not TEXT_TO_READ.fullmatch(name)
               and not name.startswith(".git") and not name.endswith(".clang-format")
               and LICENCE not in "\n".join(tree.read(name).splitlines()[:3])]
    assert not without, without


def test_licence_is_first():
    """In the first line of C, in the first two of a script."""
    for name in tree.files():
        if name.endswith((".c", ".h")):
            assert tree.read(name).startswith(f"/* {LICENCE} */\n"), name


def test_nothing_is_unfinished():
    # Spelt so that this file does not name what it looks for.
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX(?=:)|HA" + r"CK)\b")
    found = [f"{name}:{number}"
             for name in tree.files() if not name.startswith("tests/fuzz/corpus/")
             for number, line in enumerate(tree.read(name).splitlines(), 1) if marks.search(line)]
    assert not found, found


def test_nothing_names_the_place_it_was_made_in():
    """No path of a machine, no host to download from: the tree works anywhere."""
    places = re.compile("|".join((r"/wo" + r"rk/", r"/ho" + r"me/\w", r"https?://[^/\s]*(registry|"
                                 r"proxy|mirror|snapshot)[^/\s]*", r"deb\.deb" + r"ian\.org")))
    found = [f"{name}:{number}: {line.strip()}" for name in tree.files()
             if not name.startswith("tests/fuzz/corpus/") and name != "LICENSE"
             for number, line in enumerate(tree.read(name).splitlines(), 1) if places.search(line)]
    assert not found, "\n".join(found)


def test_scripts_can_be_run():
    for name in tree.files():
        path = tree.TOP / name
        with open(path, "rb") as file:
            script = file.read(2) == b"#!"
        assert script == bool(path.stat().st_mode & 0o111), name


def test_packages_are_named_once():
    lines = [line.split("#")[0].strip() for line in tree.read("tests/packages").splitlines()]
    packages = [line for line in lines if line]
    assert len(packages) == len(set(packages))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package) for package in packages)


# What every Debian system that builds packages has, and what debhelper says in its own way.
ALWAYS_THERE = {"gcc", "libc6-dev", "make", "git", "clang-14"}


def test_the_packages_to_build_with_are_those_of_debian_control():
    """tests/packages and Build-Depends name the same libraries and tools."""
    section = tree.read("tests/packages").split("# ---- build ----\n")[1].split("\n\n")[0]
    ours = {line.split("#")[0].strip() for line in section.splitlines()} - ALWAYS_THERE
    field = re.search(r"^Build-Depends:\n((?: .*\n)+)", tree.read("debian/control"), re.MULTILINE)
    theirs = {re.match(r" ([a-z0-9.+-]+)", line)[1] for line in field[1].splitlines()
              if "<!nocheck>" not in line}
    assert theirs - {"debhelper-compat", "python3"} == ours
