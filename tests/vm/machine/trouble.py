# SPDX-License-Identifier: GPL-2.0-or-later
"""The exception for a run that ended without a result, and a command that raises it."""

import subprocess


class Trouble(Exception):
    """The text says what failed and why, for the person who started the run."""


def command(*words, **kwargs):
    """Run a command and return its standard output; raise Trouble, with its errors, if it fails."""
    try:
        done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    except FileNotFoundError as error:
        raise Trouble(f"{words[0]} is not installed: run `make packages`") from error
    if done.returncode:
        raise Trouble(f"{' '.join(map(str, words))}: exit status {done.returncode}: "
                      f"{done.stderr.strip()}")
    return done.stdout
