# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a Varlink interface file, with its comments."""

import dataclasses
import re

TOKEN = re.compile(r"#(?P<comment>[^\n]*)|(?P<blank>\n\s*\n)|\s+|(?P<word>->|[()\[\],:?]|[\w.]+)")


@dataclasses.dataclass
class Member:
    name: str
    type: str
    comment: str


@dataclasses.dataclass
class Definition:
    kind: str           # type, method, error
    name: str
    comment: str        # the comment that ends directly before it, in lines
    members: list       # of a type, an error, or a method's parameters
    values: list        # of a type that is an enumeration
    reply: list         # of a method


class Reader:
    """A cursor over the tokens; `comment` is the comment since the last token that was read."""

    def __init__(self, text):
        self.tokens = [(match.lastgroup, match[match.lastgroup]) for match in
                       TOKEN.finditer(text) if match.lastgroup]
        self.at = 0
        self.comment = ""

    def next(self):
        """The next word; None at the end."""
        lines = []
        while self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            self.at += 1
            if kind == "comment":
                lines.append(text.removeprefix(" ").rstrip())
            elif kind == "blank":
                # What is before an empty line is about a whole section.
                lines = []
            else:
                self.comment = "\n".join(lines)
                return text
        return None

    def peek(self):
        at, comment = self.at, self.comment
        word = self.next()
        self.at, self.comment = at, comment
        return word

    def definition(self):
        kind = self.next()
        comment = self.comment
        if kind is None:
            return None
        name = self.next()
        if kind == "interface":
            return Definition(kind, name, comment, [], [], [])
        members, values = self.struct()
        reply = []
        if kind == "method":
            assert self.next() == "->"
            reply, _ = self.struct()
        return Definition(kind, name, comment, members, values, reply)

    def struct(self):
        """(members, values) of what is in parentheses; one of both is empty."""
        members, values = [], []
        assert self.next() == "("
        while self.peek() != ")":
            name = self.next()
            comment = self.comment
            if self.peek() == ":":
                self.next()
                members.append(Member(name, self.type(), comment))
            else:
                values.append(name)
            if self.peek() == ",":
                self.next()
        self.next()
        return members, values

    def type(self):
        word = self.next()
        if word == "?":
            return "?" + self.type()
        if word == "[":
            key = "" if self.peek() == "]" else self.next()
            assert self.next() == "]"
            return f"[{key}]{self.type()}"
        if word != "(":
            return word
        self.at -= 1
        members, values = self.struct()
        return "(" + ", ".join([f"{m.name}: {m.type}" for m in members] + values) + ")"


def read(path):
    """All definitions of a file, in order."""
    reader = Reader(path.read_text())
    definitions = []
    while (definition := reader.definition()) is not None:
        definitions.append(definition)
    return definitions
