"""The registry among other people's plug-ins."""

from __future__ import annotations

import logging

import pytest

import corl
from corl import registry
from corl.entry_points import declared
from corl.errors import UsageError


def install(folder, name, points):
    """A distribution `name` in `folder` with the text of an entry_points.txt."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise ValueError('at import')", "ValueError: at import"), ("def (", "SyntaxError"), ("", "no attribute"),
        ("class P: pass", "it is not a Problem"), ("import corl\nclass P(corl.Problem): pass", "abstract"),
        ("import corl\nclass P(corl.Problem):\n    def evaluate(self, i, s): return 0", "must have name"),
        ("import corl\nclass P(corl.Problem):\n    name = 'broken'\n    def evaluate(self, i, s): return 0\n"
         "    def recognises(self, head): return 1 // 0", "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_a_broken_plugin_only_warns(plugin, tmp_path, monkeypatch, caplog, source, words):
    """A plug-in that cannot be loaded, or fails to recognise files, is a warning; other problems are solved as before."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "broken_module", raising=False)
    (tmp_path / "broken_module.py").write_text(source)
    install(tmp_path, "broken", "[corl.problems]\nbroken = broken_module:P\n")
    declared.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert corl.solve(plugin / "numbers.txt", iterations=3).problem == "partition"
        assert corl.solve(registry.problem("partition").read(plugin / "numbers.txt"), iterations=3).verified
    assert words in caplog.text


def test_a_name_declared_twice_is_told(plugin, tmp_path, monkeypatch, caplog):
    """Two distributions that declare one name: the first on the path is used, and a warning names both."""
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "impostor", "[corl.solvers]\npartition.flip = impostor:Flip\n")
    declared.cache_clear()
    with caplog.at_level(logging.WARNING), pytest.raises(UsageError, match="impostor"):
        registry.solver("partition", "flip")
    assert "impostor:Flip is used" in caplog.text and "partition:Flip is not" in caplog.text
