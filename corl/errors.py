"""Every error that corl raises on purpose. The CLI turns each into one line and an exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CorlError", "Infeasible", "InputError", "SolverError", "UsageError", "described", "hint", "kind_of", "missing_package",
    "shortened", "shown", "unknown",
]  # fmt: skip

_MAX_MESSAGE = 700  # characters of a message on the command line


class CorlError(Exception):
    """The base class of corl's errors; the command line exits with `exit_code`."""

    exit_code = 1


class UsageError(CorlError):
    """An error in the call: an unknown name, an option that does not exist, a value out of range."""

    exit_code = 2


class InputError(CorlError):
    """A file or an object that cannot be read as an instance or a solution.

    The message is one line: `FILE:LINE: FIELD: what is wrong; what is accepted`. As texts from a file may have any length, the
    field is shortened to 60 characters, and the reason to 240.
    """

    exit_code = 3

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None) -> None:
        field, message = field and _cut(field, 60), _cut(message, 240)
        self.file, self.line, self.field, self.reason = file, line, field, message
        where = f"{file}:{line}" if file is not None and line is not None else file
        super().__init__(": ".join(part for part in (where, field, message) if part))

    def __reduce__(self) -> tuple:
        return _input_error, (self.reason, self.file, self.line, self.field)


def _cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters: the first three quarters and the last quarter of them."""
    end = longest // 4
    return text if len(text) <= longest else f"{text[: longest - end - 3]}...{text[-end:]}"


def described(error: BaseException) -> str:
    """Return an exception of another package's code as text for a message: its class and its own message."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def kind_of(value: object) -> str:
    """Return the kind of a wrong value for a message: "a list", "an int", "nothing" for None."""
    name = type(value).__name__
    return "nothing" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def unknown(what: str, name: str, names: Iterable[str], others: Iterable[str] = ()) -> str:
    """Return the message for an unknown name: the most similar name among `names` and `others`, and a list of `names`."""
    names = list(names)
    return f"{what} {name!r}{hint(name, [*names, *others])}; there are: {', '.join(names) or 'none'}"


def hint(name: str, names: Iterable[str]) -> str:
    """Return " (did you mean ...?)" with a name that is similar to `name`, or begins or ends with it; "" if there is none."""
    plain = {other.lower().replace("_", "-"): other for other in names}
    wanted = name.lower().replace("_", "-")
    close = difflib.get_close_matches(wanted, plain, 1)
    close += [other for other in plain if len(wanted) > 1 and (other.startswith(wanted) or other.endswith(wanted))]
    return f" (did you mean {plain[close[0]]!r}?)" if close else ""


def missing_package(error: BaseException) -> str | None:
    """Return the message for a third-party package that is not installed; None if `error` has another cause."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or error.name.partition(".")[0] == "corl":
        return None
    package = error.name.partition(".")[0].replace("_", "-")
    return f"{package} is not installed; pip install {package} (corl doctor shows all)"


def shortened(message: str, longest: int = _MAX_MESSAGE) -> str:
    """Return a message of at most `longest` characters, without its middle if it is longer."""
    if len(message) <= longest:
        return message
    return f"{message[: longest * 2 // 3]} [...] {message[len(message) - longest // 3 + 7 :]}"


def shown(value: object, longest: int = 60) -> str:
    """Return a value as text for a message: its repr on one line, cut if it is long."""
    try:
        words = " ".join(repr(value.item() if getattr(value, "ndim", None) == 0 else value).split())  # type: ignore[attr-defined]
    except Exception:  # the repr of an object of another package may raise anything
        words = f"<{kind_of(value)}>"
    return words if len(words) <= longest else f"{words[: longest - 3]}..."


def _input_error(message: str, file: str | None, line: int | None, field: str | None) -> InputError:
    return InputError(message, file=file, line=line, field=field)


class Infeasible(CorlError):
    """A solution violates a constraint of its instance; the message names the first violated one."""

    exit_code = 4


class SolverError(CorlError):
    """A solver reported a wrong objective value or an infeasible solution, or failed."""

    exit_code = 1
