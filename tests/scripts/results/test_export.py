"""Exports hold every cell with unrounded numbers, in the form that other tools read."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
import sample
from attntools.results import export
from conftest import Tool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([1e-3, 3e-3, 2e-3]),
        sample.cell(threads=2, placement="none", cache="cold"),
        sample.cell(kernel="bad", state="failed"),
    )


def test_google_benchmark(tool: Tool, path: Path) -> None:
    data = json.loads(tool(export, path, "--format", "gbench", "--launches").out)
    assert data["context"]["num_cpus"] == 2
    assert data["context"]["library_build_type"] == "release"
    first = [b for b in data["benchmarks"] if b["family_index"] == 0]
    name = "prefill-f32-s512-d64/flash/avx2/threads:1"
    assert [b["name"] for b in first] == [name] * 3 + [f"{name}_{a}" for a in AGGREGATES]
    assert [b["real_time"] for b in first] == pytest.approx([1e6, 3e6, 2e6, 2e6, 2e6, 1e6])
    assert {b["run_name"] for b in first} == {name}
    assert [b.get("repetition_index") for b in first[:3]] == [0, 1, 2]
    assert {b["time_unit"] for b in first} == {"ns"}
    names = {b["run_name"] for b in data["benchmarks"]}
    assert names == {name, "prefill-f32-s512-d64/flash/avx2/threads:2/none/cold"}


def test_dashboards_get_medians_alone(tool: Tool, path: Path) -> None:
    """They take every entry for a benchmark: a deviation that doubled was a false alarm."""
    first = "prefill-f32-s512-d64/flash/avx2/threads:1"
    second = "prefill-f32-s512-d64/flash/avx2/threads:2/none/cold"
    data = json.loads(tool(export, path, "--format", "gbench").out)
    told = [(b["name"], b["run_type"], b["real_time"]) for b in data["benchmarks"]]
    assert told == [
        (f"{first}_median", "aggregate", pytest.approx(2e6)),
        (f"{second}_median", "aggregate", pytest.approx(1e6)),
    ]
    rows = json.loads(tool(export, path, "--format", "customSmallerIsBetter").out)
    assert [(r["name"], r["unit"], r["value"]) for r in rows] == [
        (first, "ns", pytest.approx(2e6)),
        (second, "ns", pytest.approx(1e6)),
    ]
    assert "range" not in rows[0]
    assert rows[1]["range"] == "1e+06 .. 1e+06"
    assert rows[0]["extra"].startswith("attnbench run --problem ")
    metrics = json.loads(tool(export, path, "--format", "bmf").out)
    assert metrics == {
        first: {"latency": {"value": pytest.approx(2e6)}},
        second: {"latency": dict.fromkeys(("value", "lower_value", "upper_value"),
                                          pytest.approx(1e6))},
    }  # fmt: skip
    assert tool(export, path, "--format", "bmf", "--launches").code == 4


def test_csv_has_dimensions_and_the_percentages_of_the_table(tool: Tool, tmp_path: Path) -> None:
    in_place = sample.cell(
        problem="b=2,hq=8,hkv=2,sq=1,skv=64,d=128,dtype=bf16,mask=causal",
        fraction_of_fma=0.25, fraction_of_bandwidth=0.5, fraction_of_bandwidth_in_place=0.75,
        bound_by="bandwidth",
    )  # fmt: skip
    older = sample.cell(kernel="naive", fraction_of_bandwidth=0.5)
    path = sample.write(tmp_path / "c.jsonl", sample.session(), in_place, older)
    first, second = csv.DictReader(io.StringIO(tool(export, path, "--format", "csv").out))
    sizes = [first[name] for name in export.DIMENSIONS]
    assert sizes == ["2", "8", "2", "1", "64", "128", "128", "bf16", "causal"]
    assert (second["dv"], second["dtype"], second["mask"]) == ("64", "f32", "none")
    assert (first["bound_by"], second["bound_by"]) == ("bandwidth", "")
    assert (first["percent_of_fma"], first["percent_of_read"]) == ("25.0", "75.0")
    assert second["percent_of_read"] == "50.0"


def test_names_say_what_is_unusual(tool: Tool, tmp_path: Path) -> None:
    rows = [
        sample.cell(memory="first-touch", huge_pages=False),
        sample.cell(memory="bind", huge_pages=True, cache="cold", input="negative"),
        sample.cell(environment="A=1 B=2", input="negative"),
    ]
    path = sample.write(tmp_path / "b.jsonl", sample.session(), *rows)
    data = json.loads(tool(export, path, "--format", "gbench").out)
    name = "prefill-f32-s512-d64/flash/avx2/threads:1"
    assert {b["run_name"] for b in data["benchmarks"]} == {
        name,
        f"{name}/bind/huge-pages/cold/negative",
        f"{name}/A=1 B=2/negative",
    }
    rows = csv.DictReader(io.StringIO(tool(export, path, "--format", "csv").out))
    assert [(r["memory"], r["huge_pages"], r["environment"]) for r in rows] == [
        ("bind", "True", ""),
        ("first-touch", "False", "A=1 B=2"),
        ("first-touch", "False", ""),
    ]


AGGREGATES = ("mean", "median", "stddev")


def test_csv(tool: Tool, path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(tool(export, path, "--format", "csv").out)))
    bad, first, second = rows
    assert (first["threads"], second["threads"]) == ("1", "2")
    assert tuple(rows[0]) == export.COLUMNS
    assert float(first["median_s"]) == 2e-3
    assert first["problem"] == "b=1,hq=8,hkv=8,sq=512,skv=512,d=64"
    assert first["ceiling_fma_gflops"] == "118.0"
    assert (bad["state"], bad["why"], bad["median_s"]) == ("failed", "because", "")


def test_parquet_or_what_to_install(tool: Tool, path: Path, monkeypatch) -> None:  # noqa: ANN001
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = tool(export, path, "--format", "parquet", "--output", path.with_suffix(".parquet"))
    assert outcome.refused == "export: parquet needs pyarrow: .venv/bin/pip install pyarrow\n"


def test_parquet(tool: Tool, path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = path.with_suffix(".parquet")
    assert tool(export, path, "--format", "parquet", "--output", out).code == 0
    table = parquet.read_table(out)
    assert tuple(table.column_names) == export.COLUMNS
    bad, good, _cold = table.to_pylist()
    assert (good["kernel"], good["threads"], good["median_s"]) == ("flash", 1, 2e-3)
    assert (good["workspace_bytes"], good["ceiling_fma_gflops"]) == (4096.0, 118.0)
    assert (bad["state"], bad["why"], bad["median_s"]) == ("failed", "because", None)
    kinds = {name: str(table.schema.field(name).type) for name in ("plugin", "median_s", "threads")}
    assert kinds == {"plugin": "string", "median_s": "double", "threads": "int64"}


def test_usage(tool: Tool, path: Path) -> None:
    assert tool(export, path).code == 4
    assert tool(export, path, "--format", "xml").code == 4
