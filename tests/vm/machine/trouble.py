# SPDX-License-Identifier: GPL-2.0-or-later
"""What stopped a run before it had a result."""

import subprocess


class Trouble(Exception):
    """Its text says what went wrong, for the person who started the run."""


def command(*words, **kwargs):
    """Run a command; its standard output as text.  Trouble, with what it said, if it fails."""
    try:
        done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    except FileNotFoundError as error:
        raise Trouble(f"{words[0]} is not installed: make packages") from error
    if done.returncode:
        raise Trouble(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout
