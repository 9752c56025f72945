"""`corl tune`: a gain, no gain, the budget, and continuation after an interruption."""

from __future__ import annotations

import math
import tomllib

import pytest

import corl
from corl.cli.main import main
from corl.errors import UsageError
from corl.files.certificates import text_hash
from corl.store import Store
from corl.tuning.page import page
from corl.tuning.race import BEST
from corl.tuning.runs import DEFAULT


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_gain(tuned, folder, tmp_path, sampler):
    """The best value is found, the verdict is on the instances kept apart, and the options that mattered are named."""
    found = tuned(sampler=sampler)
    assert found.phase == "finished" and abs(math.log2(found.tuned["power"] / 4)) < 1
    assert found.verdict.gains and found.verdict.ratio.high < 1 and found.verdict.difference.high < 0
    assert found.verdict.instances == len(found.instances.judge) == 5 and found.sentence.startswith("gap 0.")
    assert found.sentence.endswith("] times that of the defaults on 5 instances kept apart")
    effects = {effect.option: effect.increase.value for effect in found.effects}
    assert found.effects[0].option == "power" and effects.pop("power") > 0.1 and not any(effects.values())
    content = tomllib.loads((tmp_path / "mine.toml").read_text())
    assert (content["problem"], content["solver"]) == ("toy", "tunable") and content["options"] == dict(found.tuned)
    assert content["provenance"]["gain"] == found.sentence
    assert content["provenance"]["instances"] == {path.name: text_hash(path) for path in sorted(folder.iterdir())}


def test_no_gain(tuned, tmp_path):
    """Options without effect: the defaults are kept, and no file is written."""
    found = tuned("untunable")
    assert found.phase == "finished" and found.tuned is None and found.sentence.startswith("no gain: keep the defaults")
    assert not (tmp_path / "mine.toml").exists() and found.effects == []


def test_no_gain_where_the_defaults_are_the_best(tuned, tmp_path):
    """A range that holds only worse values."""
    found = tuned(ranges={"power": (0.01, 0.5)}, tuned=["power"])
    assert found.verdict is None and found.tuned is None and not (tmp_path / "mine.toml").exists()


def test_the_instances_kept_apart_are_judged_only(tuned, tmp_path):
    """Candidates but one never see them, nor the instances to choose on if they are not among the best."""
    found = tuned()
    with Store(tmp_path / "t.db") as store:
        records = store.records()
    seen = {part: set() for part in ("train", "choose", "judge")}
    for record in records:
        seen[record.facts["group"]].add(record.solver)
    assert len(seen["judge"]) == 2 and DEFAULT in seen["judge"]
    assert len(seen["choose"]) <= BEST + 1 + len(found.effects) and seen["judge"] <= seen["choose"]


def test_worse_candidates_are_dropped_early(tuned):
    """A candidate far from the best one has fewer runs than the best ones."""
    found = tuned()
    runs = {each.label: count for each, count, _ in found.candidates}
    most = max(runs[each.label] for each in found.best)
    far = [each for each, _, value in found.candidates if each.label != DEFAULT and 0 < value < math.inf]
    assert far and all(runs[each.label] < most for each in far) and runs[DEFAULT] == most


@pytest.mark.parametrize("budget", [100, 200])
def test_the_budget_is_kept(tuned, inline, budget):
    """All runs together use at most the budget, and most of it."""
    found = tuned(budget=budget)
    assert found.spent == inline.count <= budget and found.spent > 0.6 * budget


@pytest.mark.parametrize("at", [5, 60])
def test_an_interrupted_tuning_continues(tuned, inline, tmp_path, at):
    """The same call repeats no run, and ends as it would have without the interruption."""
    whole = tuned(store=tmp_path / "whole.db")
    needed, inline.count, inline.interrupt_at = inline.count, 0, at
    stopped = tuned()
    assert stopped.phase == "interrupted" and stopped.tuned is None and "the same call continues" in stopped.sentence
    inline.interrupt_at = -1
    continued = tuned()
    assert [(each.label, count, value) for each, count, value in continued.candidates] == [
        (each.label, count, value) for each, count, value in whole.candidates
    ]
    assert continued.sentence == whole.sentence and continued.tuned == whole.tuned and inline.count == needed


def test_a_larger_budget_continues(tuned, inline):
    """A tuning that has ended goes on from its runs."""
    first = tuned(budget=100)
    second = tuned(budget=200)
    assert second.spent > first.spent and inline.count < first.spent + second.spent


def test_fixed_options_are_everybody_s(tuned, tmp_path):
    """An option that is given has this value in all runs, the defaults' too, and in the file."""
    found = tuned(colour="green")
    assert [each.name for each in found.dimensions] == ["power", "steps"] and found.tuned["colour"] == "green"
    with Store(tmp_path / "t.db") as store:
        assert {record.options["colour"] for record in store.records()} == {"green"}


def test_references_of_the_folder(tuned, folder):
    """Best known values of reference.csv are used, and the verdict says of how many instances."""
    (folder / "reference.csv").write_text("name,value\n" + "".join(f"n{n},{n}\n" for n in range(2, 9)))
    found = tuned()
    known = sum(int(source.label[1:]) < 9 for source in found.instances.judge)
    assert found.verdict.referenced == known and f"the best known value on {known}" in found.verdict.reference
    assert found.instances.ignored == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": 20}, "budget: 20 s is not accepted; accepted: at least"), ({"budget": "2 weeks"}, "seconds above 0"),
        ({"iterations": None}, "accepted: either a time_limit or iterations"), ({"objective": "anytime"}, "depends on the clock"),
        ({"sampler": "luck"}, "accepted: 'tpe', 'random'"), ({"tuned": ["powr"]}, "did you mean 'power'"),
        ({"ranges": {"power": (0, 1)}}, "option power is 0.0; accepted: a number from 0.01 to 100"),
        ({"ranges": {"colour": ["red", "blue"]}}, "option colour is 'blue'; accepted: red, green"),
        ({"ranges": {"power": (2, 1)}}, "LOW:HIGH"), ({"power": 1000}, "option power is 1000"),
        ({"power": 2, "tuned": ["power"]}, "a value and a range"), ({"seed": -1}, "seed: -1"),
    ],
)  # fmt: skip
def test_bad_arguments(tuned, arguments, words):
    """One line that names the argument and what is accepted; nothing but a first run of the defaults has happened."""
    with pytest.raises(UsageError, match=words.replace("(", r"\(")) as raised:
        tuned(**arguments)
    assert "\n" not in str(raised.value)


def test_too_few_instances(tuned, folder):
    """Fewer than ten cannot be divided."""
    (folder / "n2.txt").unlink()
    with pytest.raises(UsageError, match="9 instances of toy; accepted: 10 or more"):
        tuned()


def test_the_command(inline, folder, tmp_path, monkeypatch, capsys):
    """The verdict is printed, the file and the page are written; the page loads itself again only while the tuning runs."""
    monkeypatch.chdir(tmp_path)
    call = ["tune", "toy", "tunable", "--instances", str(folder), "--iterations", "1", "--budget", "3m", "--tune", "power"]
    assert main([*call, "--range", "power=0.5:8"]) == 0
    shown = capsys.readouterr()
    assert "times that of the defaults on 5 instances kept apart" in shown.out and "--options toy-tunable.toml" in shown.out
    assert "power: 0.5 to 8, logarithmic" in shown.err and "3 instances to race on, 2 to choose on, 5 kept apart" in shown.err
    html = (tmp_path / "toy-tunable-tuning.html").read_text()
    assert "times that of the defaults" in html and "location.reload" not in html
    result = corl.solve(folder / "n5.txt", iterations=1, options="toy-tunable.toml")
    assert result.solver == "tunable" and result.options["power"] > 1
    assert main([*call, "--range", "power=0.5:8", "--option", "steps=12"]) == 2
    assert "choose another label, or another file with --store" in capsys.readouterr().err


def test_the_page_while_it_runs(tuned):
    """Of every state in between: the budget, the candidates with their options, and a script that loads it again."""
    pages = []
    tuned(on_progress=lambda state: pages.append(page(state)))
    assert all("location.reload" in html for html in pages[:-1]) and "location.reload" not in pages[-1]
    assert "racing: " in pages[0] and "<th>power</th>" in pages[0] and "default" in pages[0]
