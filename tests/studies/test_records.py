"""The search for records: what is open, in which order, what is kept, and that a further call continues."""

from __future__ import annotations

import csv
import json
import zipfile

import pytest
import records
from records import Open, Outcome, expected_yield, made_runs, next_run, open_instances

from corl.files.certificates import check_certificate

SHOP = "3 3\n0 3 1 2 2 2\n0 2 2 1 1 4\n1 4 2 3 0 1\n"
FLEXIBLE = "2 2 1.5\n2 1 1 3 2 1 5 2 2\n1 2 1 4 2 4\n"  # three operations


def entry(name: str, family: str, size: str, lower: int, upper: int) -> dict[str, object]:
    """A line of the archive's best known bounds."""
    return {"instance": name, "family": family, "size": size, "lower_bound": lower, "upper_bound": upper}


@pytest.fixture
def archive(tmp_path):
    """A small archive: a zipped job shop, a closed one, a flexible one of Dauzere-Peres, and a flow shop."""
    root = tmp_path / "archive"
    text, flexible = root / "jobshop" / "instances" / "text" / "Some1990", root / "flexible-jobshop" / "instances" / "fjsp"
    flow = root / "permutation flowshop" / "instances" / "Taillard1993"
    for folder in (text, flexible / "DauzerePeres1994", flow):
        folder.mkdir(parents=True)
    with zipfile.ZipFile(text / "shop1.zip", "w") as packed:
        packed.writestr("shop1.txt", SHOP)
    (text / "shop2.txt").write_text(SHOP)
    (flexible / "DauzerePeres1994" / "05a.txt").write_text(FLEXIBLE)
    (flow / "tfs001.txt").write_text("3 2\n0 3 1 2\n0 1 1 4\n0 2 1 2\n")
    bounds = {
        "jobshop": [entry("shop1", "some", "3 x 3", 9, 30), entry("shop2", "some", "3 x 3", 11, 11)],
        "flexible-jobshop": [entry("dpp05a", "dpp", "2 x 2", 5, 6)],
    }
    for benchmark, entries in bounds.items():
        (root / benchmark / "solutions").mkdir()
        (root / benchmark / "solutions" / "bks.json").write_text(json.dumps(entries))
    (tmp_path / "bounds.csv").write_text("name,value\nta001,100\nta099,1\n")
    return root


def test_what_is_open(archive, tmp_path):
    """Instances whose bounds differ, under the names of the bounds, and flow shops from a file of bounds."""
    opened = open_instances(archive, tmp_path / "bounds.csv")
    found = {each.name: (each.problem, each.upper, each.operations) for each in opened}
    assert found == {"shop1": ("jobshop", 30.0, 9), "dpp05a": ("jobshop", 6.0, 3), "ta001": ("flowshop", 100.0, 6)}


def test_every_improvement_is_kept_and_a_further_call_continues(archive, tmp_path, capsys):
    """The best makespan is proven at once; its certificate passes the judge; the next call makes the next run."""
    folder = tmp_path / "folder"
    words = [str(archive), str(folder), "--bounds", str(tmp_path / "bounds.csv"), "--source", "a test", "--nice", "0"]
    limits = ["--seconds", "0.2", "--longest", "0.2", "--solver", "cp-sat"]
    records.main([*words, *limits, "--runs", "2"])
    records.main([*words, *limits, "--runs", "1"])
    with (folder / "runs.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert sorted((row["instance"], row["run"]) for row in rows) == [("dpp05a", "0"), ("shop1", "0"), ("ta001", "0")]
    verdict = check_certificate(folder / "shop1.json", folder / "instances" / "shop1.txt")
    shop = verdict.certificate
    assert verdict.better and (shop.published, shop.source) == (30.0, "a test")
    assert shop.file == "jobshop/instances/text/Some1990/shop1.txt" and "--only shop1" in shop.command
    assert check_certificate(folder / "ta001.json", archive / "permutation flowshop/instances/Taillard1993/tfs001.txt").better
    assert not (folder / "dpp05a.json").exists()  # 6 is optimal
    assert "shop1 0 0 0.2" in capsys.readouterr().out


def test_certificates_in_the_folder_count_as_runs(archive, tmp_path):
    """Records that are known already are not searched for first."""
    folder = tmp_path / "folder"
    records.main(
        [str(archive), str(folder), "--only", "shop1", "--once", "--seconds", "0.2", "--nice", "0", "--solver", "cp-sat"]
    )
    (folder / "runs.csv").unlink()
    (run,) = made_runs(folder)
    assert (run.instance, run.run, run.seconds) == ("shop1", 0, 0.0)


def instance(name: str, family: str = "f", lower: float = 90.0, operations: int = 100) -> Open:
    """An open instance with the upper bound 100."""
    return Open(name, family, "jobshop", None, lower, 100.0, operations)


def test_the_order_of_runs():
    """Wide bounds first, then families with successes; near misses before distant ones; further improvements last."""
    wide, narrow, other = instance("wide"), instance("narrow", lower=99.9), instance("other", "g", lower=99.5)
    chosen, number, seconds = next_run([narrow, wide, other], [], 60.0, 600.0)
    assert (chosen.name, number, seconds) == ("wide", 0, 60.0)
    assert next_run([wide, narrow, other], [Outcome("wide", 0, 60.0, 99.0)], 60.0, 600.0)[0].name == "other"
    runs = [Outcome("wide", 0, 60.0, 101.0), Outcome("other", 0, 60.0, 100.2), Outcome("narrow", 0, 60.0, 99.0)]
    chosen, number, seconds = next_run([wide, narrow, other], runs, 60.0, 600.0)
    assert (chosen.name, number, seconds) == ("other", 1, 120.0)


@pytest.mark.parametrize("better", [99.0, 100.0, 100.5])
def test_expected_yield_falls_with_the_excess_and_the_seconds(better):
    """An instance whose best makespan is nearer to the published one is worth more; twice the seconds, half the yield."""
    each = instance("a")
    found = [expected_yield(each, [Outcome("a", 0, 60.0, makespan)], (0, 1), 120.0) for makespan in (better, better + 1.0)]
    if better >= 100.0:
        assert found[0] > found[1]
    assert expected_yield(each, [], (0, 1), 60.0) == pytest.approx(2.0 * expected_yield(each, [], (0, 1), 120.0))
