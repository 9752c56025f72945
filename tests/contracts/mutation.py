"""Damaged files: seeded mutants of texts, JSON and bytes, as people, disks and other programs make them."""

from __future__ import annotations

import gzip
import json
import math
import random
import re
from collections.abc import Callable
from typing import Any

__all__ = ["mutant"]

_TOKENS = (
    "", "0", "-1", "1", "2", "-0.0", "0.5", "1e308", "-1e308", "1e-320", "1e999", "nan", "inf", "-inf", "1e20", "2147483648",
    "9223372036854775808", "9" * 30, "9" * 5000, "x", "é", "１", "1_000", "0x10", "1e", "+", "-", "\"", "[", "}", "#", ":", "/",
    "\0", "\x85", "\u2028", "\ufeff", "%s", "{0}", "a" * 300, "EOF", "*", "=", "<=", ",", ";",
)  # fmt: skip
_VALUES = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, 10**25, math.nan, math.inf, "",
    "x", "0", "1e5", "a" * 300, "é\n\t\0", "\ud800", [], {}, [0], [[]], [None], {"a": 1}, [[1, 2], [3]],
)  # fmt: skip
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DEEP = 900  # lists in lists: Python's own JSON reader takes so many


def mutant(content: bytes, random: random.Random) -> bytes:
    """`content` with a few faults."""
    if random.random() < 0.1:
        return _damaged(content, random)
    if content.lstrip()[:1] in (b"{", b"[") and random.random() < 0.8:
        return _edited_json(content, random)
    text = content.decode("utf-8")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        text = random.choice(_TEXT_EDITS)(text, random)
    return text.encode("utf-8", "surrogatepass")


# -------------------------------------------------------------------- bytes
def _damaged(content: bytes, random: random.Random) -> bytes:
    at = random.randrange(len(content) + 1)
    return random.choice(
        (
            lambda: content[:at],
            lambda: content[at:],
            lambda: content[:at] + bytes([random.randrange(256)]) + content[at + 1 :],
            lambda: content[:at] + b"\0" + content[at:],
            lambda: content[:at] + b"\xff\xfe" + content[at:],
            lambda: b"\xef\xbb\xbf" + content,
            lambda: content.decode("utf-8").encode("utf-16"),
            lambda: content.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b" "))),
            lambda: content + content,
            lambda: gzip.compress(content, mtime=0),
            lambda: gzip.compress(content, mtime=0)[: -at or None],
            lambda: gzip.compress(gzip.compress(content, mtime=0), mtime=0),
            lambda: gzip.compress(content + b" " * 2**20, mtime=0),
            lambda: content[: at // 2] * 3,
        )
    )()


# -------------------------------------------------------------------- text
def _line_edit(text: str, random: random.Random) -> str:
    lines = text.split("\n")
    i, j = (random.randrange(len(lines)) for _ in range(2))
    kind = random.randrange(6)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        lines = lines[: i + 1]
    elif kind == 4:
        lines[i] = lines[i] + " " + lines[j]
    else:
        lines.insert(i, random.choice(_TOKENS))
    return "\n".join(lines)


def _token_edit(text: str, random: random.Random) -> str:
    """Blanks stay as they are, so that a fault is one of a token and not of the columns."""
    parts = re.split(r"([\s,:]+)", text)
    i, j = (2 * random.randrange((len(parts) + 1) // 2) for _ in range(2))
    kind = random.randrange(5)
    if kind == 0:
        del parts[i : i + 2]
    elif kind == 1:
        parts[i : i + 1] = [parts[i], " ", parts[i]]
    elif kind == 2:
        parts[i], parts[j] = parts[j], parts[i]
    else:
        parts[i] = random.choice(_TOKENS)
    return "".join(parts)


def _number_edit(text: str, random: random.Random) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = random.choice(found)
    value = float(match[0])
    near = (-value, value + 1, value - 1, value / 2, value * 1e6, 10.0 ** random.randrange(-12, 40), random.random())
    changed = random.choice(_TOKENS) if random.random() < 0.3 else f"{random.choice(near):.12g}"
    return text[: match.start()] + changed + text[match.end() :]


def _character_edit(text: str, random: random.Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice((" ", "\n", "\t", *_TOKENS[1:])) + text[at + random.randrange(3) :]


_TEXT_EDITS: tuple[Callable[[str, random.Random], str], ...] = (_line_edit, _token_edit, _character_edit, *3 * (_number_edit,))


# -------------------------------------------------------------------- JSON
def _edited_json(content: bytes, random: random.Random) -> bytes:
    root = [json.loads(content)]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if places := list(_places(root)):
            _edit(*random.choice(places), random, places)
            root = json.loads(json.dumps(root))  # no two places share a value
    text = json.dumps(root[0] if root else None)
    if random.random() < 0.02:
        match = random.choice(list(_NUMBER.finditer(text)) or [re.match("", text)])
        text = text[: match.start()] + "[" * _DEEP + match[0] + "]" * _DEEP + text[match.end() :]
    return text.encode()


def _places(root: Any) -> Any:
    """(holder, key) of every value below `root`, a deep tree's without recursion."""
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])


def _edit(holder: Any, key: Any, random: random.Random, places: list[tuple[Any, Any]]) -> None:
    value = holder[key]
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    kind = 5 if numeric and random.random() < 0.5 else random.randrange(9)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(value)))
    elif kind == 2:
        holder[key] = [value]
    elif kind == 3 and isinstance(holder, dict):
        holder[random.choice(("x", "", "name", key + "s", "a" * 300, "é\n"))] = holder.pop(key)
    elif kind == 4:
        other, place = random.choice(places)
        try:
            holder[key] = json.loads(json.dumps(other[place]))
        except (KeyError, IndexError):
            holder[key] = None
    elif kind == 5 and numeric:
        near = (-value, value + 1, value - 1, value * 10**6, value / 3, 10 ** random.randrange(40), random.random())
        holder[key] = random.choice(near)
    elif kind == 6 and isinstance(value, list):
        holder[key] = random.choice((value[:-1], value[::-1], value * 2, value * 40 if len(value) < 50 else value))
    else:
        holder[key] = random.choice(_VALUES)
