"""A fleet: types, kernels side by side, and hosts that are off, but no others."""

from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.fleet import fleet, fleet_kernels, fleet_tables, outliers
from attntools.fleet.fleet import MachineType
from attntools.fleet.outliers import MEMORY
from attntools.history import database, history
from attntools.report import report
from attntools.results.results import read
from conftest import Tool
from pages import page_of

QUIET = 0.003  # noise of a cell


def node(
    path: Path, name: str, *, slow: float = 1.0, reads: float = 1.0, noise: float = QUIET,
    seed: int = 0, machine: sample.Row | None = None, rows: tuple[sample.Row, ...] = (),
    started: str = "2026-01-02T03:04:05Z", isa: str = "avx2", threads: int = 1,
) -> Path:  # fmt: skip
    """A node's file: eight cases of two kernels; `slow` and `reads` multiply its rates."""
    rng = np.random.default_rng([seed, *name.encode()])
    hardware = sample.MACHINE | {"node": name} | (machine or {})
    cells = []
    for i in range(8):
        for kernel, behind in (("flash", 1.0), ("gemm", 1.5)):
            medians = sample.noisy(rng, behind * 1e-3 / slow, 8, QUIET)
            row = sample.cell(medians, kernel=kernel, s=512 + i, bound_by="compute", isa=isa,
                              threads=threads)  # fmt: skip
            row["ceiling"] = {
                "fma_gflops": 118.0 * slow * np.exp(noise * rng.standard_normal()),
                "read_gbytes_per_s": 40.0 * reads * np.exp(noise * rng.standard_normal()),
            }
            cells.append(row)
    header = sample.session(machine=hardware, id=name, started=started)
    return sample.write(path / f"{name}.jsonl", header, *cells, *rows)


def types_of(path: Path) -> list[MachineType]:
    return fleet.types_of([read(p) for p in fleet.files_of([path])])


def twelve(path: Path, **seventh: float) -> list[Path]:
    """Twelve nodes that differ by half a percent, and one that may differ by more."""
    rng = np.random.default_rng(4)
    paths = []
    for i in range(1, 13):
        own = {"reads": float(np.exp(0.005 * rng.standard_normal()))}
        if i == 7:
            own |= seventh
        paths.append(node(path, f"node{i}", **own))
    return paths


def called(path: Path) -> list[tuple[str, str]]:
    found = outliers.called(outliers.spreads(types_of(path)))
    return [(d.host.name, s.what) for s, d in found]


# ---- types ---------------------------------------------------------------------------------------


def test_hosts_of_a_type_may_differ_in_settings(tmp_path: Path) -> None:
    """Not in hardware: microcode and the exact memory are parts of a fingerprint, not of a type."""
    for i in (1, 2, 10):
        strange = {"microcode": "0x2", "fingerprint": "beef"} if i == 2 else {"microcode": "0x1"}
        node(tmp_path, f"node{i}", machine=strange | {"memory_bytes": 2**34 + 4096 * i})
    node(tmp_path, "big", machine={"cores": 64, "fingerprint": "cafe"})
    a, b = types_of(tmp_path)
    assert (a.letter, a.name, [h.name for h in a.hosts]) == (
        *("A", "Test, 2 cores"),
        ["node1", "node2", "node10"],
    )
    assert (b.letter, b.name, [h.name for h in b.hosts]) == ("B", "Test, 64 cores", ["big"])
    assert a.odd == {"node2": ["microcode 0x2, 0x1 in 2"]}


def test_memory_that_is_missing_is_odd(tmp_path: Path) -> None:
    for i in range(3):
        node(tmp_path, f"n{i}", machine={"memory_bytes": 2**35 if i else 7 * 2**32})
    (kind,) = types_of(tmp_path)
    assert kind.odd == {"n0": ["memory bytes 30.1 GB, 34.4 GB in 2"]}


def test_the_last_session_of_a_host_counts(tmp_path: Path) -> None:
    node(tmp_path, "a", slow=0.5, started="2026-01-01T00:00:00Z")
    (tmp_path / "old").mkdir()
    (tmp_path / "a.jsonl").rename(tmp_path / "old" / "zz.jsonl")
    node(tmp_path, "a", started="2026-01-03T00:00:00Z")
    ((host,),) = (kind.hosts for kind in types_of(tmp_path))
    assert len(host.sessions) == 2
    assert {c.session for c in host.timed} == {host.latest}
    assert host.latest.header["started"].startswith("2026-01-03")


def test_files_without_nodes_are_hosts_by_their_names(tmp_path: Path) -> None:
    for name in ("left", "right"):
        node(tmp_path, name, machine={"node": None})
    types = types_of(tmp_path)
    assert [h.name for h in types[0].hosts] == ["left", "right"]
    (note,) = fleet.same_machine_id(types)
    assert note.startswith("left, right have the same machine-id: ")


def test_letters_go_on_after_z() -> None:
    found = fleet.letters()
    assert [next(found) for _ in range(28)][-3:] == ["Z", "AA", "AB"]


# ---- hosts that are off --------------------------------------------------------------------------


def test_a_node_that_is_slow_in_bandwidth_is_called(tmp_path: Path) -> None:
    twelve(tmp_path, reads=0.92)
    assert called(tmp_path) == [("node7", MEMORY)]
    found = fleet_tables.fleet_of([read(p) for p in fleet.files_of([tmp_path])])
    said = fleet_tables.sentences(found)
    assert said[0] == "12 hosts of 1 machine type."
    assert said[1].startswith("node7 is 7.9")
    assert " % slow in reads from memory, 1 thread (95 % interval -8.2 .." in said[1]
    (row,) = fleet_tables.host_rows(found)
    assert (row[0], row[1], row[-1]) == ("node7 (A)", MEMORY, "OFF")


def test_nobody_is_called_where_all_are_alike(tmp_path: Path) -> None:
    twelve(tmp_path)
    assert called(tmp_path) == []


def test_less_than_the_threshold_is_not_called(tmp_path: Path) -> None:
    twelve(tmp_path, reads=0.982)
    assert called(tmp_path) == []


def test_two_slow_nodes_do_not_hide_each_other(tmp_path: Path) -> None:
    twelve(tmp_path, reads=0.9)
    node(tmp_path, "node3", reads=0.9)
    assert [name for name, _ in called(tmp_path)] == ["node7", "node3"] or [
        name for name, _ in called(tmp_path)
    ] == ["node3", "node7"]


def test_a_noisy_node_is_not_called(tmp_path: Path) -> None:
    """Its cells say different things: half of them that it is slow, half that it is fast."""
    twelve(tmp_path, reads=0.95, noise=0.3)
    assert called(tmp_path) == []


def test_few_hosts_are_too_few(tmp_path: Path) -> None:
    for i in range(4):
        node(tmp_path, f"n{i}", reads=1.0 if i else 0.5)
    assert called(tmp_path) == []
    found = outliers.spreads(types_of(tmp_path))
    assert outliers.could_tell(found) == [
        "A: 4 hosts are too few to say that one of them is off; that takes 5."
    ]
    assert {s.called for s in found} == {float("inf")}


def test_one_host_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    node(tmp_path, "alone")
    found = outliers.spreads(types_of(tmp_path))
    assert outliers.could_tell(found) == ["A: one host, which nothing can be compared with."]


def test_from_which_difference_on_a_host_would_be_called(tmp_path: Path) -> None:
    for i in range(8):
        node(tmp_path, f"n{i}")
    found = outliers.spreads(types_of(tmp_path))
    assert outliers.could_tell(found) == [
        "A: of 8 hosts one that is 2.0 % off would have been called."
    ]
    found[0].called = np.log(1.035)
    assert outliers.could_tell(found) == [
        "A: of 8 hosts one that is 2.0 to 3.5 % off would have been called,"
        " depending on the quantity."
    ]


@pytest.mark.parametrize("hosts", [5, 8, 20, 300])
def test_the_limit_is_exceeded_as_often_as_promised(hosts: int) -> None:
    """By the farthest of hosts that are alike: 5 in 100, with the spread estimated from them."""
    x = np.random.default_rng(11).standard_normal((20000, hosts))
    distance = np.abs(x - np.median(x, axis=1, keepdims=True))
    deviation = 1.4826 * np.median(distance, axis=1)
    exceeded = (distance.max(axis=1) / deviation > outliers.limit(hosts, 0.05)).mean()
    assert exceeded == pytest.approx(0.05, abs=0.01 if hosts <= outliers.SIMULATED else 0.03)


def test_whole_fleets_of_equal_hosts_have_none_called() -> None:
    """Of 400 fleets 5 % would be 20, three standard deviations 33; the threshold is below all."""
    rng = np.random.default_rng(5)
    fleets = 0
    for _ in range(400):
        kind = MachineType("A", [])
        spreads = []
        for what in (outliers.MULTIPLY_ADDS, MEMORY):
            logs = 0.05 * rng.standard_normal(8)
            hosts = [outliers.Deviation(None, np.exp(x), np.exp(x - 1e-6), np.exp(x + 1e-6), 8, 0,
                                        False) for x in logs]  # fmt: skip
            deviation = float(outliers._distances(logs)[1])
            spreads.append(outliers.Spread(kind, what, 1, 1.0, deviation, float("inf"), hosts))
        for spread in spreads:
            outliers._call(spread, outliers.LEVEL / len(spreads))
        fleets += bool(outliers.called(spreads))
    assert 5 <= fleets <= 33


# ---- kernels -------------------------------------------------------------------------------------


def test_kernels_side_by_side(tmp_path: Path) -> None:
    """Types with other threads and instruction sets have the same cases."""
    node(tmp_path, "a1")
    node(tmp_path, "a2")
    slower = sample.cell([9e-3] * 8, kernel="tiled", s=512, threads=8, isa="neon")
    node(tmp_path, "b1", isa="neon", threads=8, machine={"cpu": "Other"}, rows=(slower,))
    types = types_of(tmp_path)
    cases = fleet_kernels.cases_of(types)
    assert len(cases) == 8
    assert set(cases[0].on) == {"A", "B"}
    flash, gemm = fleet_kernels.standings(cases, "A")
    assert (flash.kernel, flash.rank, flash.wins, flash.cases) == ("flash", 1, 8, 8)
    assert flash.ratio == 1
    assert (gemm.kernel, gemm.rank) == ("gemm", 2)
    assert gemm.ratio == pytest.approx(1.5, rel=0.01)
    assert flash.share == pytest.approx(100 * 2 * 8 * 512**2 * 128 / 1e-3 / 118e9, rel=0.02)
    names = [s.kernel for s in fleet_kernels.standings(cases, "B")]
    assert names[:2] == ["flash", "gemm"] or "tiled" in names
    assert cases[0].on["A"].sure == 2
    rows = {row[0]: row[1:] for row in fleet_tables.kernel_rows(fleet_tables.Fleet(types))}
    assert rows["tiled"][0] == "-"
    assert rows["flash"][0].startswith("1. 1.00 x ")


def test_one_case_is_enough_for_a_kernel_that_takes_twice_as_long(tmp_path: Path) -> None:
    """One case or two have no interval of their median: 2.28 x shared rank 1."""
    rng = np.random.default_rng(3)
    for count in (1, 2, 4):
        rows = [
            sample.cell(sample.noisy(rng, behind * 1e-3, 8, QUIET), kernel=kernel, s=512 + i)
            for i in range(count)
            for kernel, behind in (("flash", 1.0), ("twin", 1.0), ("gemm", 2.28 + i))
        ]
        session = sample.session(machine=sample.MACHINE | {"node": "n"})
        folder = tmp_path / str(count)
        folder.mkdir()
        sample.write(folder / "n.jsonl", session, *rows)
        found = fleet_kernels.standings(fleet_kernels.cases_of(types_of(folder)), "A")
        assert {s.kernel: s.rank for s in found} == {"flash": 1, "twin": 1, "gemm": 3}


def test_one_launch_ranks_no_kernel_of_a_type(tmp_path: Path) -> None:
    rows = [sample.cell([t], kernel=kernel) for kernel, t in (("flash", 1e-3), ("gemm", 2e-3))]
    sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    fleet = fleet_tables.Fleet(types_of(tmp_path))
    assert [s.rank for s in fleet.standings["A"]] == [None, None]
    assert [row[1].split(" x ")[0] for row in fleet_tables.kernel_rows(fleet)] == [
        "- 1.00",
        "- 2.00",
    ]


def test_kernels_that_cannot_be_told_apart_share_a_rank(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        sample.cell(sample.noisy(rng, 1e-3, 8, 0.02), kernel=kernel, s=s)
        for s in (64, 128, 256, 512, 1024, 2048)
        for kernel in ("flash", "tiled")
    ]
    sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    types = types_of(tmp_path)
    cases = fleet_kernels.cases_of(types)
    assert [s.rank for s in fleet_kernels.standings(cases, "A")] == [1, 1]
    fastest = [row[1] for row in fleet_tables.case_rows(fleet_tables.Fleet(types))]
    assert all("=" in text for text in fastest)


# ---- the tools -----------------------------------------------------------------------------------


def test_the_page_of_a_folder(tool: Tool, tmp_path: Path) -> None:
    twelve(tmp_path, reads=0.92)
    node(tmp_path, "arm", machine={"cpu": "Other"}, isa="neon")
    page = page_of(tool, "--fleet", tmp_path)
    assert page.said[0] == "13 hosts of 2 machine types."
    assert page.said[1].startswith("node7 is 7.9")
    assert page.headings[:3] == ["A fleet: attnbench", "Machine types", "Kernels"]
    assert ["A", "Test, 2 cores", "12", "flash, 8 of 8"] in [row[:4] for row in page.rows]
    assert len(page.alts) == 2
    off = [row for row in page.rows if row[0] == "node7 (A)" and row[-1] == "OFF"]
    assert [row[1] for row in off] == [MEMORY]


@pytest.mark.long
def test_a_history_holds_a_fleet(tool: Tool, tmp_path: Path) -> None:
    paths = twelve(tmp_path, reads=0.92)
    kept = "--database", tmp_path / "h.sqlite"
    assert tool(history, *kept, "add", *paths).code == 0
    told = tool(history, *kept, "fleet").out
    assert told.splitlines()[0] == "12 hosts of 1 machine type."
    assert "node7 is 7.9" in told
    assert len(tool(history, *kept, "fleet", "--hosts").out) > len(told)
    page = page_of(tool, "--fleet", tmp_path / "h.sqlite")
    assert page.said[1].startswith("node7 is 7.9")
    assert tool(report, "--fleet", tmp_path / "h.sqlite", "--output", tmp_path / "p.html").code == 0


def test_nodes_have_histories_of_their_own(tool: Tool, tmp_path: Path) -> None:
    """A slow node beside a fast one is no change; runners without a node are one machine."""
    kept = "--database", tmp_path / "h.sqlite"
    for day in range(1, 9):
        for name, slow in (("n1", 1.0), ("n2", 0.5)):
            path = node(tmp_path, name, slow=slow, seed=day,
                        started=f"2026-01-{day:02}T00:00:0{name[1]}Z")  # fmt: skip
            assert tool(history, *kept, "add", path).code == 0
    assert tool(history, *kept, "trend").out.splitlines()[-1] == "32 cells followed, 0 changes"
    assert "n2 (Test CPU)" in tool(history, *kept, "list").out
    with database.opened(kept[1]) as connection:
        followed = database.series(connection, "s512-d64 flash")
    assert [len(points) for points in followed.values()] == [8, 8]


@pytest.mark.long
def test_changes_name_the_machine_where_there_are_several(tool: Tool, tmp_path: Path) -> None:
    kept = "--database", tmp_path / "h.sqlite"
    for day in range(1, 13):
        for name in ("n1", "n2"):
            slow = 0.8 if day > 6 and name == "n2" else 1.0
            path = node(tmp_path, name, slow=slow, seed=day,
                        started=f"2026-01-{day:02}T00:00:0{name[1]}Z")  # fmt: skip
            tool(history, *kept, "add", path)
    lines = tool(history, *kept, "trend").out.splitlines()
    assert "machine" in lines[0]
    assert lines[-1] == "32 cells followed, 16 changes"
    assert all("n2 (Test CPU)" in line for line in lines[1:-1])
    page = page_of(tool, tmp_path / "h.sqlite")
    assert any(row[0].endswith(", n2 (Test CPU)") for row in page.rows)


def test_one_bad_file_does_not_hide_a_fleet(tool: Tool, tmp_path: Path) -> None:
    where, out = tmp_path / "fleet", tmp_path / "page.html"
    where.mkdir()
    sample.write(where / "a.jsonl", sample.session(), sample.cell())
    (where / "b.jsonl").write_text("{}\n")
    sample.write(where / "c.jsonl", sample.session(), sample.cell())
    outcome = tool(report, "--fleet", where, tmp_path / "none", "--output", out)
    assert f"report: {where / 'b.jsonl'}:1: " in outcome.refused
    assert f"report: {tmp_path / 'none'}: No such file or directory\n" in outcome.err
    text = out.read_text()
    assert ">a<" in text
    assert ">c<" in text
    (where / "a.jsonl").unlink()
    (where / "c.jsonl").unlink()
    out.unlink()
    outcome = tool(report, "--fleet", where, "--output", out)
    assert (outcome.code, outcome.err.endswith("report: no file can be used\n")) == (4, True)
    assert not out.exists()


def test_bad_fleets_are_refused(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    outcome = tool(report, "--fleet", tmp_path / "empty", "--output", "-")
    assert outcome.refused == f"report: {tmp_path}/empty: has no results files (*.jsonl)\n"
    outcome = tool(report, "--fleet", "--experiments", tmp_path, "--output", "-")
    assert "--fleet takes files, folders or histories" in outcome.refused


def test_a_host_with_nothing_timed_is_shown(tool: Tool, tmp_path: Path) -> None:
    failed = sample.cell(state="failed")
    machine = sample.MACHINE | {"node": "bad"}
    sample.write(tmp_path / "bad.jsonl", sample.session(machine=machine), failed)
    page = page_of(tool, "--fleet", tmp_path)
    assert page.said[0] == "1 host of 1 machine type."
    assert "1 cells have no right result: bad (1)." in page.said
