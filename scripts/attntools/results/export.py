"""Converts a results file to formats of other tools.

    scripts/export FILE.jsonl --format gbench --output results.json
    scripts/export FILE.jsonl --format csv

Formats:
    gbench    Google Benchmark's JSON, as github-action-benchmark and compare.py read it: the
              median of each cell.  With --launches one entry per launch, so that compare.py has
              repetitions to test, then mean, median and standard deviation; not for dashboards,
              which would take launches and deviations for benchmarks that became slower
    customSmallerIsBetter
              github-action-benchmark's own: the median in ns, and the interval as its range
    bmf       Bencher Metric Format: latency in ns with the interval's ends
    csv       one line per cell, every number unrounded; the percentages are those of the tables
    parquet   the same columns; needs pyarrow

Only cells with a time appear in the first three; csv and parquet have all, with their state.

Exit codes: 0 written, 3 output, 4 usage or input.
"""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from attntools.base.cli import Exit, ToolError, parser, refuse_over, told
from attntools.base.files import replacing, write_text
from attntools.base.tables import comma_separated
from attntools.results.cells import Cell, Identity, Results, Row, problem_fields
from attntools.results.results import read
from attntools.results.schema import USUAL

TOOL = "export"

NUMBERS = (
    *("gflops", "gbytes_per_s", "fraction_of_fma", "fraction_of_machine"),
    *(
        "fraction_of_bandwidth",
        "fraction_of_bandwidth_in_place",
        "prepare_s",
        "workspace_bytes",
        "peak_rss_bytes",
    ),
    *("check.max_abs_error", "check.error_over_bound"),
    *("ceiling.fma_gflops", "ceiling.read_gbytes_per_s"),
    *("time.min_s", "time.p05_s", "time.p95_s", "time.launches", "time.samples"),
)
# Each key of a problem has a column, even where the problem's text omits its default.
DIMENSIONS = ("b", "hq", "hkv", "sq", "skv", "d", "dv", "dtype", "mask")
# As the program's tables show them.
PERCENTAGES = ("percent_of_fma", "percent_of_read")
COLUMNS = (
    *("session", "started", "commit", "fingerprint", "case", *Identity._fields, *DIMENSIONS),
    *("state", "why", "flags", "median_s", "ci95_lo_s", "ci95_hi_s", "repro"),
    *("bound_by", *PERCENTAGES),
    *(name.replace(".", "_") for name in NUMBERS),
)
FLOATS = (*COLUMNS[-len(NUMBERS) :], *PERCENTAGES, "median_s", "ci95_lo_s", "ci95_hi_s")


def record(cell: Cell) -> dict[str, Any]:
    """One cell as flat columns; unknown values are None."""
    session = cell.session
    lo, hi = (cell.interval_s if cell.timed else None) or (None, None)
    fields = problem_fields(cell.problem)
    read = cell.number("fraction_of_bandwidth_in_place")
    read = read if read == read else cell.number("fraction_of_bandwidth")
    fixed = {
        "session": session.header.get("id"),
        "started": session.header.get("started"),
        "commit": session.build.get("commit"),
        "fingerprint": session.machine.get("fingerprint"),
        "case": cell.case,
        **cell.identity._asdict(),
        **{name: fields.get(name) for name in DIMENSIONS},
        "state": cell.state,
        "why": cell.why,
        "flags": " ".join(cell.flags),
        "median_s": cell.median_s if cell.timed else None,
        "ci95_lo_s": lo,
        "ci95_hi_s": hi,
        "repro": cell.repro,
        "bound_by": cell.bound_by,
    }
    numbers = {name.replace(".", "_"): cell.number(name) for name in NUMBERS}
    numbers |= dict(
        zip(PERCENTAGES, (100 * cell.number("fraction_of_fma"), 100 * read), strict=True)
    )
    return fixed | {k: v if v == v else None for k, v in numbers.items()}


# ---- Google Benchmark ----------------------------------------------------------------------------

# Fields that a name has where they are unusual; the input after how it is measured, so that the
# names in existing dashboards stay the same.
REST = sorted(USUAL, key=("input", "plugin").__contains__)


def entry_name(cell: Cell) -> str:
    """The name of a cell's benchmark; each field of the identity that names what ran."""
    identity = cell.identity
    parts = [cell.case, identity.kernel, identity.isa, f"threads:{identity.threads}"]
    parts += [identity.text(name) for name in REST if getattr(identity, name) != USUAL[name]]
    return "/".join(parts)


def _entry(cell: Cell, index: int, name: str, seconds: float, **more: Any) -> Row:
    return {
        "name": name,
        "family_index": index,
        "per_family_instance_index": 0,
        "run_name": entry_name(cell),
        "repetitions": len(cell.launch_medians_s),
        "threads": cell.threads,
        **more,
        "iterations": int(cell.row["time"].get("calls_per_sample") or 1),
        "real_time": seconds * 1e9,
        "cpu_time": seconds * 1e9,
        "time_unit": "ns",
    }


def entries(cell: Cell, index: int, *, launches: bool) -> Iterator[Row]:
    """The median of a cell; or its launches as repetitions, then their aggregates."""
    name, x = entry_name(cell), cell.launch_medians_s
    aggregates = {"median": statistics.median(x)}
    if launches:
        for i, seconds in enumerate(x):
            yield _entry(cell, index, name, seconds, run_type="iteration", repetition_index=i)
        aggregates = {"mean": statistics.fmean(x)} | aggregates
    if launches and len(x) > 1:
        aggregates["stddev"] = statistics.stdev(x)
    for aggregate, seconds in aggregates.items():
        kind = {"run_type": "aggregate", "aggregate_name": aggregate, "aggregate_unit": "time"}
        yield _entry(cell, index, f"{name}_{aggregate}", seconds, **kind)


def google_benchmark(results: Results, *, launches: bool = False) -> Row:
    """The file as Google Benchmark 1.8 writes its own; cpu_time is wall time, as real_time is."""
    session = results.sessions[0]
    machine = session.machine
    kinds = {1: "Data", 2: "Unified", 3: "Unified"}
    return {
        "context": {
            "date": session.header.get("started"),
            "host_name": machine.get("host") or "unknown",
            "executable": "attnbench",
            "num_cpus": machine.get("threads"),
            "mhz_per_cpu": 0,
            "cpu_scaling_enabled": machine.get("governor") not in (None, "performance"),
            "caches": [
                {
                    "type": kinds.get(c.get("level"), "Unified"),
                    "level": c.get("level"),
                    "size": c.get("bytes"),
                    "num_sharing": c.get("shared_by_threads"),
                }
                for c in machine.get("caches") or []
            ],
            "load_avg": [],
            "library_build_type": "release",
            "attnbench_commit": session.build.get("commit"),
        },
        "benchmarks": [
            e for i, cell in enumerate(results.timed) for e in entries(cell, i, launches=launches)
        ],
    }


# ---- other dashboards ----------------------------------------------------------------------------


def smaller_is_better(results: Results) -> list[Row]:
    """github-action-benchmark's customSmallerIsBetter: name, unit and value, more to be shown."""
    found = []
    for cell in results.timed:
        row: Row = {"name": entry_name(cell), "unit": "ns", "value": cell.median_s * 1e9}
        if cell.interval_s:
            lo, hi = cell.interval_s
            row["range"] = f"{lo * 1e9:.6g} .. {hi * 1e9:.6g}"
        found.append(row | {"extra": cell.repro or cell.problem})
    return found


def bencher(results: Results) -> Row:
    """Bencher Metric Format: measures of each benchmark, by its name."""
    found: Row = {}
    for cell in results.timed:
        latency = {"value": cell.median_s * 1e9}
        if cell.interval_s:
            lo, hi = cell.interval_s
            latency |= {"lower_value": lo * 1e9, "upper_value": hi * 1e9}
        found[entry_name(cell)] = {"latency": latency}
    return found


JSON = {"gbench": google_benchmark, "customSmallerIsBetter": smaller_is_better, "bmf": bencher}


# ---- writing -------------------------------------------------------------------------------------


def write_parquet(results: Results, output: str) -> None:
    """Writes Parquet, if there is something to write it with."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ToolError("parquet needs pyarrow: .venv/bin/pip install pyarrow") from None
    if output == "-":
        raise ToolError("parquet is binary: name a file with --output")
    # The same types for every file, so that files with a column of nulls only join the others.
    types = {
        "threads": pyarrow.int64(),
        "huge_pages": pyarrow.bool_(),
        **dict.fromkeys(FLOATS, pyarrow.float64()),
    }
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in COLUMNS])
    rows = [record(c) for c in results.cells.values()]
    table = pyarrow.Table.from_pylist(rows, schema=schema)
    with replacing(output) as aside:
        pyarrow.parquet.write_table(table, aside)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    p = parser(TOOL, __doc__)
    p.add_argument("file", metavar="FILE")
    p.add_argument("--format", choices=(*JSON, "csv", "parquet"), required=True)
    p.add_argument("--launches", action="store_true", help="gbench: every launch, and deviations")
    p.add_argument("--output", default="-", metavar="FILE", help="- for standard output")
    options = p.parse_args(argv)
    refuse_over(options.output, [options.file])
    if options.launches and options.format != "gbench":
        p.error("--launches is of --format gbench")
    results = told(TOOL, read(options.file))
    if options.format == "parquet":
        write_parquet(results, options.output)
    elif options.format == "csv":
        rows = [list(map(record(c).get, COLUMNS)) for c in results.cells.values()]
        write_text(options.output, comma_separated(COLUMNS, rows))
    else:
        more = {"launches": True} if options.launches else {}
        made = JSON[options.format](results, **more)
        text = msgspec.json.format(msgspec.json.encode(made), indent=1)
        write_text(options.output, text.decode() + "\n")
    return Exit.OK
