"""Every error that corl raises on purpose. The CLI turns each into one line and an exit code."""

from __future__ import annotations

__all__ = ["CorlError", "Infeasible", "InputError", "SolverError", "UsageError", "described"]


class CorlError(Exception):
    """The base class; `exit_code` is what the CLI ends with."""

    exit_code = 1


class UsageError(CorlError):
    """An unknown name, an option that does not exist, a value out of range: the call is at fault."""

    exit_code = 2


class InputError(CorlError):
    """A file or an object that cannot be read as an instance or a solution.

    The message is one line: `FILE:LINE: FIELD: what is wrong; what is accepted`.
    """

    exit_code = 3

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None) -> None:
        self.file, self.line, self.field, self.reason = file, line, field, message
        where = f"{file}:{line}" if file is not None and line is not None else file
        super().__init__(": ".join(part for part in (where, field, message) if part))

    def __reduce__(self) -> tuple:
        return _input_error, (self.reason, self.file, self.line, self.field)


def described(error: BaseException) -> str:
    """An exception of somebody else's code for a message: its class and what it says."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _input_error(message: str, file: str | None, line: int | None, field: str | None) -> InputError:
    return InputError(message, file=file, line=line, field=field)


class Infeasible(CorlError):
    """A solution breaks a constraint of its instance; the message names the first one broken."""

    exit_code = 4


class SolverError(CorlError):
    """A solver reported a wrong cost or an infeasible solution, or failed."""

    exit_code = 1
