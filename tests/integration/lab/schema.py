# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a Varlink interface file and checks values against its types, so that every reply a test
gets is also a test of the schema."""

import re

_TOKEN = re.compile(r"\s*(->|\[\]|\[string\]|[A-Za-z][A-Za-z0-9._-]*|[():,?])")


class Interface:
    """types, methods and errors, each {name: …}; a method is (parameters, reply)."""

    def __init__(self, text):
        self._tokens = _tokens(text)
        self.types, self.methods, self.errors = {}, {}, {}
        self._expect("interface")
        self.name = self._next()
        while self._tokens:
            self._member()

    def check_reply(self, method, parameters):
        self._struct(self.methods[method][1], parameters, method)

    def check_type(self, name, value):
        self._value(name, value, name)

    def check_error(self, error, parameters):
        self._struct(self.errors[error], parameters, error)

    # ---- reading ----

    def _next(self):
        return self._tokens.pop(0)

    def _expect(self, token):
        got = self._next()
        if got != token:
            raise ValueError(f"{token} expected, not {got}")

    def _member(self):
        keyword, name = self._next(), self._next()
        if keyword == "type":
            self.types[name] = self._type()
        elif keyword == "error":
            self.errors[name] = self._type()
        elif keyword == "method":
            parameters = self._type()
            self._expect("->")
            self.methods[name] = parameters, self._type()
        else:
            raise ValueError(f"unknown keyword {keyword}")

    def _type(self):
        token = self._next()
        if token in ("?", "[]", "[string]"):
            return token, self._type()
        return self._parenthesis() if token == "(" else token

    def _parenthesis(self):
        """A struct is a dict of types, an enum a set of names."""
        fields, names = {}, set()
        while self._tokens[0] != ")":
            name = self._next()
            if self._tokens[0] == ":":
                self._next()
                fields[name] = self._type()
            else:
                names.add(name)
            if self._tokens[0] == ",":
                self._next()
        self._next()
        return names or fields

    # ---- checking ----

    def _struct(self, fields, value, where):
        assert isinstance(value, dict), f"{where}: {value!r} is not an object"
        unknown = value.keys() - fields.keys()
        assert not unknown, f"{where}: not in the interface: {unknown}"
        for name, kind in fields.items():
            self._value(kind, value.get(name), f"{where}.{name}")

    def _value(self, kind, value, where):
        if isinstance(kind, tuple) and kind[0] == "?":
            if value is None:
                return
            kind = kind[1]
        if isinstance(kind, dict):
            self._struct(kind, value, where)
        elif isinstance(kind, set):
            assert value in kind, f"{where}: {value!r} is not one of {kind}"
        elif isinstance(kind, tuple):
            items = value if kind[0] == "[]" else value.values()
            assert isinstance(value, list if kind[0] == "[]" else dict), f"{where}: {value!r}"
            for i, item in enumerate(items):
                self._value(kind[1], item, f"{where}[{i}]")
        elif kind in self.types:
            self._value(self.types[kind], value, where)
        else:
            _scalar(kind, value, where)


def _scalar(kind, value, where):
    expected = {"bool": bool, "int": int, "float": (int, float), "string": str,
                "object": dict}[kind]
    good = isinstance(value, expected) and (kind == "bool" or not isinstance(value, bool))
    assert good, f"{where}: {value!r} is not of type {kind}"


def _tokens(text):
    tokens, at = [], 0
    text = re.sub(r"#[^\n]*", "", text).rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise ValueError(f"cannot read {text[at:at + 40]!r}")
        tokens.append(match[1])
        at = match.end()
    return tokens
