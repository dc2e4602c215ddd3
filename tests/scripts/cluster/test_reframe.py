"""ReFrame measures the nodes of a real Slurm, and its results are a fleet's."""

import os
import subprocess
from pathlib import Path

import fake
import pytest
from attntools.report import report
from attntools.results.results import read
from cluster import Cluster

ROOT = Path(__file__).parents[3]
REFRAME = ROOT / ".venv-fleet/bin/reframe"

SITE = """\
site_configuration = {
    "systems": [{
        "name": "virtual", "hostnames": [".*"],
        "partitions": [{
            "name": "cpu", "scheduler": "squeue", "launcher": "srun", "access": ["-p cpu"],
            "environs": ["default"], "max_jobs": 4,
        }],
    }],
    "environments": [{"name": "default", "cc": "gcc", "target_systems": ["virtual"]}],
}
"""


# The fewest objects, compiled without optimisation.
WIDER = (
    "avx2", "avx512", "avx512_2fma", "avx512_bf16", "avx512_fp16", "amx", "neon_bf16", "neon_f16",
    "sve",
)  # fmt: skip
QUICKLY = " ".join(["-DCMAKE_BUILD_TYPE=Debug", *(f"-DATTN_COMPILES_{isa}=OFF" for isa in WIDER)])


# What is asked for below: inputs and kernels, words with a comma or a space in them.
WORK = [(given, kernel) for given in ("normal:1", "uniform:3") for kernel in ("flash", "naive")]


def reframe(
    cluster: Cluster, folder: Path, *options: str, program: str = os.environ["ATTNBENCH_PROGRAM"]
) -> subprocess.CompletedProcess[str]:
    site = folder / "site.py"
    site.write_text(SITE)
    return cluster.run(
        str(REFRAME), "-C", str(site), "-c", str(ROOT / "scripts/fleet/attnbench_check.py"),
        "--prefix", str(folder), "--exec-policy=async", "-r", "-S",
        f"attnbench_build.program={program}", "-S",
        "attnbench_suite.options=--case tiny-f32-s64-d64,h2-s24-d8-uniform3 --problem "
        "'h=2,s=24,d=8 input=uniform:3' --kernel flash,naive --threads 1 --launches 3 "
        "--if-busy go-on", *options, cwd=folder,
    )  # fmt: skip


@pytest.mark.skipif(not REFRAME.exists(), reason="no .venv-fleet (scripts/setup --fleet)")
def test_each_node_is_a_check(cluster: Cluster, tmp_path: Path) -> None:
    done = reframe(cluster, tmp_path, "--distribute=idle", "--performance-report")
    assert done.returncode == 0, done.stdout + done.stderr
    files = {path.name: path for path in (tmp_path / "output").rglob("*.jsonl")}
    assert sorted(files) == ["node1.jsonl", "node2.jsonl"], done.stdout
    for name, path in files.items():
        results = read(path)
        (session,) = results.sessions
        assert session.machine["node"] == name.removesuffix(".jsonl")
        cells = results.cells.values()
        assert sorted((cell.row["input"], cell.kernel) for cell in cells) == WORK
        for cell in cells:
            label = f"{cell.case}/{cell.kernel}/{cell.isa}/1"
            assert label in done.stdout
            assert f"{label}/ceiling" in done.stdout
    page = tmp_path / "fleet.html"
    assert report.run(["--fleet", str(tmp_path / "output"), "--output", str(page)]) == 0
    assert "2 hosts of 1 machine type." in page.read_text()


@pytest.mark.skipif(not REFRAME.exists(), reason="no .venv-fleet (scripts/setup --fleet)")
def test_a_program_that_fails_is_a_failure(cluster: Cluster, tmp_path: Path) -> None:
    program = fake.script(tmp_path / "attnbench", "#!/bin/sh\necho broken >&2\nexit 3\n")
    done = reframe(cluster, tmp_path, program=str(program))
    assert done.returncode == 1
    assert "attnbench has written no results" in done.stdout


@pytest.mark.skipif(not REFRAME.exists(), reason="no .venv-fleet (scripts/setup --fleet)")
def test_the_program_is_built_on_a_node_of_the_partition(cluster: Cluster, tmp_path: Path) -> None:
    done = reframe(
        cluster, tmp_path, "-S", "attnbench_build.build_locally=no", "-S",
        f"attnbench_build.options={QUICKLY}", program="",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "output").rglob("*.jsonl")
    results = read(path)
    (session,) = results.sessions
    assert sorted((cell.row["input"], cell.kernel) for cell in results.cells.values()) == WORK
    for cell in results.cells.values():
        assert cell.state == "ok"
        assert cell.isa in ("baseline", "neon")  # options of cmake have come through
    assert session.machine["node"] in cluster.nodes
