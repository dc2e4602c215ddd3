"""scripts/capsule: a row leaves its file with what it needs, and is measured again from there."""

import hashlib
import json
import shlex
from pathlib import Path

import fake
import pytest
import sample
from attntools.capsule import capsule
from conftest import Outcome, Tool

PROBLEM = "b=1,hq=8,hkv=8,sq=512,skv=512,d=64"


def repro(problem: str = f"{PROBLEM} input=normal:1", more: str = "", verb: str = "run") -> str:
    return f"attnbench {verb}{more} --problem {shlex.quote(problem)} --kernel flash --isa avx2"


def pack(tool: Tool, results: Path, folder: Path, row: int = 1) -> Outcome:
    return tool(capsule, "pack", results, "--row", str(row), "--output", folder)


def enclosed(folder: Path) -> sample.Row:
    return json.loads((folder / "capsule.json").read_text())


def test_a_row_is_measured_again(tool: Tool, tmp_path: Path) -> None:
    folder, program = (
        tmp_path / "new" / "capsule",
        fake.program(tmp_path / "program", factor=2, noise=0),
    )
    rows = [sample.cell(s=s, repro=repro()) for s in (256, 512)]
    results = sample.write(tmp_path / "a.jsonl", sample.session(), *rows)
    outcome = pack(tool, results, folder, row=2)
    assert (outcome.code, outcome.out) == (
        0,
        f"{folder}: row 2 of {results}; repeat it with: scripts/capsule replay {folder}\n",
    )
    assert enclosed(folder)["row"] == rows[1]
    assert enclosed(folder)["session"] == sample.session()
    assert (enclosed(folder)["plugin"], enclosed(folder)["tensors"]) == (None, None)
    results.unlink()
    outcome = tool(capsule, "replay", folder, "--program", program)
    assert [line.split() for line in outcome.printed.splitlines() if line.startswith("median")] == [
        ["median", "1.00", "ms", "[1.00", "ms", "1.00", "ms]", "2.00", "ms"]
    ]
    assert "+100.0 % time, on the same machine; too few launches for intervals" in outcome.out
    words = json.loads((folder / "replay-1.jsonl").read_text().split("\n")[0])["command"]
    assert words == [
        *("run", "--problem", f"{PROBLEM} input=normal:1", "--kernel", "flash", "--isa", "avx2"),
        *("--seed", "7", "--launches", "8", "--output", f"{folder}/replay-1.jsonl"),
    ]
    assert tool(capsule, "replay", folder, "--program", program).code == 0
    assert (folder / "replay-2.jsonl").exists()
    assert not (folder / "before.jsonl").exists()


def test_another_state_is_told(tool: Tool, tmp_path: Path) -> None:
    folder, program = tmp_path / "capsule", fake.program(tmp_path / "program")
    row = sample.cell(state="failed", repro=repro(verb="check", more=" --threads 1,2"))
    pack(tool, sample.write(tmp_path / "a.jsonl", sample.session(), row), folder)
    outcome = tool(capsule, "replay", folder, "--program", program)
    assert outcome.code == 1
    assert any(line.split() == ["state", "failed", "ok"] for line in outcome.out.splitlines())
    words = json.loads((folder / "replay-1.jsonl").read_text().split("\n")[0])["command"]
    assert words[:3] == ["check", "--threads", "1,2"]
    assert "--launches" not in words


def test_another_machine_is_told(tool: Tool, tmp_path: Path) -> None:
    folder, program = tmp_path / "capsule", fake.program(tmp_path / "program")
    there = sample.session(machine=sample.MACHINE | {"fingerprint": "beef"})
    row = sample.cell(repro=repro())
    pack(tool, sample.write(tmp_path / "a.jsonl", there, row), folder)
    assert "Another machine:" in tool(capsule, "replay", folder, "--program", program).out


@pytest.mark.parametrize("given", ["", " --flag 'a b'"])
def test_a_plug_in_goes_along(tool: Tool, tmp_path: Path, given: str) -> None:
    folder, program = tmp_path / "capsule", fake.program(tmp_path / "program")
    plugin = tmp_path / "mine.so"
    plugin.write_text("1")
    digest = f"sha256:{hashlib.sha256(b'1').hexdigest()}"
    command = repro(more=f" --plugin {shlex.quote(f'{plugin}{given}')}")
    row = sample.cell(plugin=f"{digest}{given}", repro=command)
    results = sample.write(tmp_path / "a.jsonl", sample.session(), row)
    assert pack(tool, results, folder).code == 0
    assert enclosed(folder)["plugin"] == {"name": "mine.so", "digest": digest}
    plugin.unlink()
    words = capsule.command(folder, enclosed(folder), Path("out"))
    assert words[words.index("--plugin") + 1] == f"{folder}/mine.so{given}"
    (folder / "mine.so").write_text("2")
    outcome = tool(capsule, "replay", folder, "--program", program)
    assert "mine.so is not the file that was put there" in outcome.refused
    (folder / "mine.so").unlink()
    outcome = tool(capsule, "replay", folder, "--program", program)
    assert "mine.so: No such file or directory" in outcome.err


@pytest.mark.parametrize("content", [None, "another"])
def test_a_plug_in_that_is_not_there_any_more(
    tool: Tool, tmp_path: Path, content: str | None
) -> None:
    plugin, folder = tmp_path / "mine.so", tmp_path / "capsule"
    if content:
        plugin.write_text(content)
    row = sample.cell(plugin=f"sha256:{'0' * 64}", repro=repro(more=f" --plugin {plugin}"))
    outcome = pack(tool, sample.write(tmp_path / "a.jsonl", sample.session(), row), folder)
    assert str(plugin) in outcome.refused
    assert ("is not the plug-in of the row" if content else "No such file") in outcome.err
    assert not folder.exists()


def test_tensors_go_along(tool: Tool, tmp_path: Path) -> None:
    folder, tensors = tmp_path / "capsule", tmp_path / "a:b.safetensors"
    tensors.write_text("x")
    row = sample.cell(repro=repro(f"{PROBLEM} input=file:{tensors}:layer1."))
    results = sample.write(tmp_path / "a.jsonl", sample.session(), row)
    assert pack(tool, results, folder).code == 0
    tensors.unlink()
    words = capsule.command(folder, enclosed(folder), Path("out"))
    problem = words[words.index("--problem") + 1]
    assert problem == f"{PROBLEM} input=file:{folder}/a:b.safetensors:layer1."
    outcome = pack(tool, results, tmp_path / "other")
    assert (outcome.code, outcome.err) == (4, f"capsule: {tensors}: No such file or directory\n")
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_packed(tool: Tool, tmp_path: Path) -> None:
    folder, other = tmp_path / "capsule", tmp_path / "other.jsonl"
    results = sample.write(tmp_path / "a.jsonl", sample.session(), sample.cell(repro=repro()))
    assert f"{results}: no row 2, it has 1" in pack(tool, results, folder, 2).err
    assert "No such file" in pack(tool, other, folder).err
    other.write_text("{}\n")
    assert pack(tool, other, folder).code == 4
    assert not folder.exists()
    folder.mkdir()
    outcome = pack(tool, results, folder)
    assert (outcome.code, outcome.err) == (3, f"capsule: {folder}: File exists\n")
    assert list(folder.iterdir()) == []


def test_what_is_no_capsule(tool: Tool, tmp_path: Path) -> None:
    assert "capsule.json: No such file" in tool(capsule, "replay", tmp_path).err
    for text, said in (("{", "is no JSON"), ('{"schema":"x"}', "is no capsule of schema")):
        (tmp_path / "capsule.json").write_text(text)
        assert said in tool(capsule, "replay", tmp_path).refused


def test_a_file_of_another_folder_is_not_used(tool: Tool, tmp_path: Path) -> None:
    folder, outside = tmp_path / "capsule", tmp_path / "outside.so"
    outside.write_text("1")
    digest = f"sha256:{hashlib.sha256(b'1').hexdigest()}"
    row = sample.cell(plugin=digest, repro=repro(more=f" --plugin {outside}"))
    pack(tool, sample.write(tmp_path / "a.jsonl", sample.session(), row), folder)
    inside = enclosed(folder)
    inside["plugin"]["name"] = "../outside.so"
    (folder / "outside.so").unlink()
    (folder / "capsule.json").write_text(json.dumps(inside))
    assert "No such file" in tool(capsule, "replay", folder).err
