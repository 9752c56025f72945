"""`corl completion SHELL`: print a completion script with all names in it, so that completing a word does not start Python."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["arguments", "execute"]

_HINT = """bash: corl completion bash > ~/.local/share/bash-completion/completions/corl
zsh:  corl completion zsh > FOLDER/_corl    (FOLDER is one of the folders in $fpath)
fish: corl completion fish > ~/.config/fish/completions/corl.fish"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = _HINT, argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=list(_SCRIPTS))


def execute(args: argparse.Namespace) -> int:
    print(_SCRIPTS[args.shell](_commands()), end="")
    return 0


def _commands() -> dict[str, tuple[str, list[_Word]]]:
    """Return command -> (its purpose, the words that may follow the command)."""
    from corl.cli.main import COMMANDS, parser_of

    parser = parser_of(list(COMMANDS))
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: (text, _words(subparsers.choices[name])) for name, text in COMMANDS.items()}


class _Word(NamedTuple):
    """An option, or a word that a command accepts as an argument."""

    text: str
    """The option or the word itself."""
    about: str = ""
    """The explanation that zsh and fish show."""
    after: Sequence[str] = ()
    """The values that an option accepts; if there are none although the option `takes` a value, the value is a file name."""
    takes: bool = False
    """Whether an option takes a value."""


def _words(command: argparse.ArgumentParser) -> list[_Word]:
    """Return the options and arguments of a command; an argument with fixed values is one word for each value."""
    found = []
    for action in command._actions:
        choices = [str(choice) for choice in action.choices or []] or _names(action)
        if action.option_strings:
            about = (action.help or "").partition(";")[0].replace("%", "")
            found.append(_Word(action.option_strings[-1], about, choices, takes=action.nargs != 0))
        else:
            found += [_Word(choice) for choice in choices]
    return found


def _names(action: Any) -> list[str]:
    """Return the names that an option or argument called problem, solver or recipe accepts; [] for any other."""
    from corl import registry
    from corl.learning.recipe import recipe_names

    problems = registry.problems()
    if action.dest in ("problem", "problems"):
        return problems
    if action.dest == "solver":
        return sorted({"auto", *(name for problem in problems for name in registry.solvers(problem))})
    if action.dest == "recipe":
        return sorted({name for problem in problems for name in recipe_names(problem)})
    return []


def _bash(commands: dict[str, tuple[str, list[_Word]]]) -> str:
    lines = ["# corl: completion for bash", "_corl() {"]
    lines.append('  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"')
    reply = f'COMPREPLY=($(compgen -W "{" ".join(commands)}" -- "$word"))'
    lines.append(f'  if [ "$COMP_CWORD" -eq 1 ]; then {reply}; return; fi')
    lines.append('  case "${COMP_WORDS[1]} $before" in')
    for name, (_, words) in commands.items():
        for word in words:
            if word.takes:
                reply = f'$(compgen -W "{" ".join(word.after)}" -- "$word")' if word.after else '$(compgen -f -- "$word")'
                lines.append(f'    "{name} {word.text}") COMPREPLY=({reply}); return ;;')
    lines += ["  esac", '  case "${COMP_WORDS[1]}" in']
    for name, (_, words) in commands.items():
        texts = " ".join(word.text for word in words)
        lines.append(f'    {name}) COMPREPLY=($(compgen -W "{texts}" -- "$word") $(compgen -f -- "$word")) ;;')
    return "\n".join([*lines, "  esac", "}", "complete -o filenames -F _corl corl"]) + "\n"


def _zsh(commands: dict[str, tuple[str, list[_Word]]]) -> str:
    lines = ["#compdef corl", "if (( CURRENT == 2 )); then", "  local -a commands=("]
    lines += [f"    {_quoted(f'{name}:{text}')}" for name, (text, _) in commands.items()]
    lines += ["  )", "  _describe command commands", "  return", "fi", 'case "$words[2] $words[CURRENT-1]" in']
    for name, (_, words) in commands.items():
        for word in words:
            if word.takes:
                reply = f"compadd -- {' '.join(word.after)}" if word.after else "_files"
                lines.append(f"  {_quoted(f'{name} {word.text}')}) {reply}; return ;;")
    lines += ["esac", 'case "$words[2]" in']
    for name, (_, words) in commands.items():
        pairs = " ".join(_quoted(f"{word.text}:{word.about}" if word.about else word.text) for word in words)
        lines.append(f"  {name}) local -a found=({pairs}); _describe option found; _files ;;")
    return "\n".join([*lines, "esac"]) + "\n"


def _fish(commands: dict[str, tuple[str, list[_Word]]]) -> str:
    lines = ["# corl: completion for fish"]
    for name, (text, words) in commands.items():
        lines.append(f"complete -c corl -n __fish_use_subcommand -f -a {name} -d {_quoted(text)}")
        condition = f"-n '__fish_seen_subcommand_from {name}'"
        for word in words:
            if word.text.startswith("--"):
                after = f" -x -a {_quoted(' '.join(word.after))}" if word.after else " -r" if word.takes else ""
                lines.append(f"complete -c corl {condition} -l {word.text[2:]}{after} -d {_quoted(word.about)}")
            else:
                lines.append(f"complete -c corl {condition} -a {word.text}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
