"""The built-in rivals, through the protocol that attnbench speaks with them.

NumPy is always there: the environment of these tests has it.  Other libraries take minutes, and are
tested where scripts/rivals/setup has installed them and ATTNBENCH_TEST_RIVALS is set.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rival_cases import BUSY, CASES, FEW, REFUSED, TOLERANCE, UNTIMED, WIDE
from rivals import kernels, venvs
from rivals.masks import complete
from rivals.memory_file import MemoryFile, Operands
from rivals.problem import BadRequest, problem_of
from talk import Program, Tensors, shape_of, to_floats, visible


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments are: the user's, and the tests' own as that of NumPy."""
    folder = tmp_path_factory.mktemp("home")
    rivals = folder / "attnbench" / "rivals"
    rivals.mkdir(parents=True)
    for name, library in venvs.LIBRARIES.items():
        if venvs.version(library):
            (rivals / name).symlink_to(venvs.folder(library))
    if not (rivals / "numpy").exists():
        (rivals / "numpy").symlink_to(sys.prefix)
    return folder


def present(home: Path, kernel: str) -> None:
    """Skips where a kernel's library is not installed, or not to be tested."""
    if kernel != "numpy" and "ATTNBENCH_TEST_RIVALS" not in os.environ:
        pytest.skip("ATTNBENCH_TEST_RIVALS is not set")
    if not (home / "attnbench" / "rivals" / kernels.library_of(kernel).name).exists():
        pytest.skip(f"scripts/rivals/setup {kernels.library_of(kernel).name}")


def asked(kernel: str, case: str) -> dict[str, Any]:
    """The shape of a case, in dimensions that the kernel has."""
    given = CASES[case]
    return shape_of(**{**given, "d": max(given.get("d", 0), WIDE.get(kernel, 16))})


def covered(kernel: str, case: str) -> bool:
    """Whether a kernel has to compute a case."""
    caps, shape = kernels.KERNELS[kernel]["caps"], asked(kernel, case)
    return (
        shape["dtype"] in caps["dtypes"]
        and shape["kv_dtype"] in {shape["dtype"], *caps["kv_dtypes"]}
        and set(shape["mask"]) <= set(caps["masks"])
        and set(shape["options"]) <= set(caps["options"])
        and set(shape["outputs"]) <= set(caps["outputs"])
        and case not in REFUSED[kernel]
    )


def undefined(kernel: str, case: str) -> bool:
    """Whether a case has rows without a key, of which a kernel says that they may be anything."""
    caveats = kernels.KERNELS[kernel]["caps"]["caveats"]
    return "empty_rows" in caveats and not visible(asked(kernel, case)).any(-1).all()


def judge(tensors: Tensors, n: int) -> None:
    """Compares the results of a set with the reference."""
    o, lse = tensors.reference(n)
    bound = TOLERANCE[tensors.shape["dtype"]]
    if "o" in tensors.shape["outputs"]:
        np.testing.assert_allclose(to_floats(tensors.views[f"o.{n}"]), o, rtol=0, atol=bound)
    if "lse" in tensors.shape["outputs"]:
        np.testing.assert_allclose(tensors.views[f"lse.{n}"], lse, rtol=0, atol=bound)


@pytest.mark.long
@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_results(home: Path, kernel: str) -> None:
    present(home, kernel)
    tensors = Tensors(shape_of(sq=1))
    with Program(home, tensors) as program:
        for case in FEW.get(kernel, CASES):
            if undefined(kernel, case):
                continue
            tensors.lay_out(asked(kernel, case), 2)
            ready = program.prepare(kernel)
            if not covered(kernel, case):
                assert (case, ready["state"]) == (case, "unsupported")
                assert ready["why"]
                continue
            assert (case, ready["state"], ready["why"]) == (case, "ok", None)
            # The numbers come after prepare, and others before each request.
            tensors.fill(2)
            kept = {name: view.copy() for name, view in tensors.views.items() if name[0] in "qkv"}
            assert program.ask("execute", set=1) == {"protocol": 1, "state": "ok", "why": None}
            judge(tensors, 1)
            if "o.0" in tensors.views:
                assert np.isnan(to_floats(tensors.views["o.0"])).all()
            for name, view in kept.items():
                assert np.array_equal(tensors.views[name], view), f"{case}: {name} was changed"
            tensors.fill(3)
            measured = program.ask("measure", calls=3, first=1)
            if case in UNTIMED.get(kernel, ()):
                assert (case, measured["state"]) == (case, "unsupported")
                continue
            assert measured["seconds"] > 0
            judge(tensors, 0)
            judge(tensors, 1)


def spent(pid: int) -> dict[str, int]:
    """Ticks of the CPU that each thread of a process has used."""
    ticks = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        ticks[task.name] = int(fields[11]) + int(fields[12])
    return ticks


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_threads(home: Path, kernel: str, threads: int) -> None:
    present(home, kernel)
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    if len(cpus) < threads:
        pytest.skip("one CPU")
    busy = BUSY.get(kernel, {"hq": 4, "sq": 1024, "d": 64, "mask": ["causal"]})
    tensors = Tensors(shape_of(**busy))
    with Program(home, tensors) as program:
        ready = program.prepare(kernel, threads, cpus)
        assert (ready["state"], ready["why"]) == ("ok", None)
        assert ready["threads"] == threads
        assert set(ready["cpus"]) <= set(cpus)
        assert ready["library"].split()[0] == kernels.library_of(kernel).title.split()[0]
        calls = 1
        while program.ask("measure", calls=calls, first=0)["seconds"] < 0.5:
            calls *= 2
        before = spent(program.pid)
        time.sleep(0.1)  # a tick is 10 ms
        program.ask("measure", calls=calls, first=0)
        used = [ticks - before.get(task, 0) for task, ticks in spent(program.pid).items()]
        busy = sum(t >= 0.1 * max(used) for t in used)
        if kernel == "jax":  # a pool for operations, which waits for a pool for their parts
            assert threads <= busy <= 2 * threads + 1
        else:
            assert busy == threads
        for task in Path(f"/proc/{program.pid}/task").iterdir():
            assert os.sched_getaffinity(int(task.name)) <= set(cpus)


@pytest.mark.parametrize("kernel", ["torch", "openvino", "ggml", "numpy", "vllm"])
def test_instruction_set_is_said(home: Path, kernel: str) -> None:
    """Behind name and version; the others cannot tell."""
    present(home, kernel)
    tensors = Tensors(shape_of(sq=40, d=64))
    with Program(home, tensors) as program:
        described = {k["name"]: k["library"] for k in program.ask("describe")["kernels"]}
        name, said = described[kernel], program.prepare(kernel)["library"]
        assert said.startswith(f"{name} ")
        assert len(said) > len(name) + 1


def test_prepare_again(home: Path) -> None:
    """The file is read anew: other lengths, more sets, the same program."""
    tensors = Tensors(shape_of(sq=3), sets=1)
    with Program(home, tensors) as program:
        assert program.prepare("numpy")["state"] == "ok"
        tensors.lay_out(shape_of(sq=50, hq=2, d=32), 3)
        assert program.prepare("numpy")["state"] == "ok"
        tensors.fill(4)
        assert program.ask("measure", calls=5, first=2)["state"] == "ok"
        for n in range(3):
            judge(tensors, n)
        assert program.ask("release") == {"protocol": 1, "state": "ok", "why": None}
        refused = program.ask("execute", set=0)
        assert (refused["state"], refused["why"]) == ("failed", "nothing is prepared")
        assert program.ask("release")["state"] == "ok"


def test_measure_no_calls(home: Path) -> None:
    tensors = Tensors(shape_of())
    with Program(home, tensors) as program:
        assert program.prepare("numpy")["state"] == "ok"
        tensors.fill(5)
        assert program.ask("measure", calls=0, first=0)["seconds"] < 1
        assert np.isnan(tensors.views["o.0"]).all()


def test_operands_are_copied_when_they_have_changed(home: Path) -> None:
    """NumPy has no copy of (B, H, S, D), and one of (B, S, H, D)."""
    tensors = Tensors(shape_of(hq=2, hkv=1, sq=9, skv=9, layout="bshd"), sets=1)
    with Program(home, tensors) as program:
        assert program.prepare("numpy")["state"] == "ok"
        tensors.fill(6)
        assert program.ask("measure", calls=0, first=0, changed=True)["state"] == "ok"
        assert program.ask("measure", calls=1, first=0, changed=False)["state"] == "ok"
        judge(tensors, 0)
        tensors.fill(7)
        assert program.ask("measure", calls=1, first=0)["state"] == "ok"
        judge(tensors, 0)


def file_of(tensors: dict[str, np.ndarray]) -> MemoryFile:
    """A memory file with these tensors, one behind the other."""
    header, data = {}, b""
    for name, array in tensors.items():
        kind = {"f": "F32", "i": "I32"}[array.dtype.kind]
        end = len(data) + array.nbytes
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    descriptor = os.memfd_create("tensors")
    os.write(descriptor, len(text).to_bytes(8, "little") + text + data)
    return MemoryFile(descriptor)


def test_rows_of_all_sequences_and_pages_are_taken_as_they_are() -> None:
    """Packed queries and paged keys: as many rows and pages as the file has."""
    shape = shape_of(b=2, hq=4, hkv=2, sq=3, skv=8, options=["packed", "ragged", "paged"])
    problem = problem_of({**shape, "page_size": 4})
    q, k = np.ones((1, 4, 5, 16), np.float32), np.ones((7, 2, 4, 16), np.float32)
    starts, lens = np.array([0, 2, 5], np.int32), np.array([8, 3], np.int32)
    table = np.array([[6, 0], [3, -1]], np.int32)
    tensors = {"q.0": q, "k.0": k, "v.0": k, "o.0": q, "kv_lens.0": lens}
    tensors |= {"cu_seqlens.0": starts, "block_table.0": table}
    s = file_of(tensors).operands(problem, 0)
    assert (s.q.shape, s.k.shape, s.o.shape) == (q.shape, k.shape, q.shape)
    assert s.cu_seqlens.tolist() == [0, 2, 5] and s.kv_lens.tolist() == [8, 3]
    assert s.block_table.tolist() == table.tolist() and s.cu_seqlens_kv is None
    with pytest.raises(BadRequest, match=r"tensor k.0 is \(7, 2, 3, 16\)"):
        file_of({**tensors, "k.0": k[:, :, 1:]}).operands(problem, 0)


def test_slopes_and_lengths_become_a_bias() -> None:
    """Of two sequences one has a single key; a causal mask is aligned to the end of each."""
    shape = shape_of(
        batch=2, hq=2, hkv=2, sq=1, skv=3, mask=["causal"], options=["alibi", "ragged"]
    )
    problem = problem_of(shape)
    k = np.full((2, 2, 3, 8), np.nan, np.float32)
    k[0], k[1, :, :1] = 1, 2
    lens, slopes = np.array([3, 1], np.int32), np.array([0.5, 0], np.float32)
    none = dict.fromkeys(("q", "o", "lse", "bias", "mask"))
    s = complete(problem, Operands(k=k, v=k, kv_lens=lens, slopes=slopes, **none))
    out = -np.inf
    assert s.bias[:, :, 0].tolist() == [[[-1, -0.5, 0], [0, 0, 0]], [[0, out, out], [0, out, out]]]
    assert np.isfinite(s.k).all() and s.k[1, 0, :, 0].tolist() == [2, 0, 0]
    lens[:] = 2, 1
    for copy in s.refresh:
        copy()
    assert s.bias[0, 0, 0].tolist() == [-0.5, 0, out]
    assert s.k[0, 0, :, 0].tolist() == [1, 1, 0]


def test_a_tree_becomes_a_mask() -> None:
    """Drafts 0, then 1 and 2 after it; of the second sequence only draft 2 has a key."""
    shape = shape_of(b=2, sq=3, skv=5, mask=["tree"], options=["ragged"])
    parents, lens = np.array([[-1, 0, 0], [-1, 0, 0]], np.int32), np.array([5, 1], np.int32)
    k = np.ones((2, 1, 5, 16), np.float32)
    none = dict.fromkeys(("q", "o", "lse", "bias", "mask"))
    s = complete(problem_of(shape), Operands(k=k, v=k, kv_lens=lens, parents=parents, **none))
    assert s.mask[0, 0].astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]]
    assert s.mask[1, 0].astype(int).tolist() == [[0] * 5, [0] * 5, [1, 0, 0, 0, 0]]
    parents[0, 2] = 1
    for copy in s.refresh:
        copy()
    assert s.mask[0, 0, 2].all()


def test_describe() -> None:
    with Program() as program:
        answer = program.ask("describe")
    assert answer["state"] == "ok"
    assert [k["name"] for k in answer["kernels"]] == [
        "torch",
        "torch_math",
        "torch_sequences",
        "torch_flex",
        "onnxruntime_mha",
        "onnxruntime_gqa",
        "onnxruntime_attention",
        "openvino",
        "openvino_mask",
        "jax",
        "ggml",
        "numpy",
        "vllm",
        "vllm_mla",
    ]
    for kernel in answer["kernels"]:
        assert kernel["summary"] and kernel["source"]
        assert set(kernel["caps"]["dtypes"]) <= {"f32", "bf16", "f16"}


def test_not_installed(tmp_path: Path) -> None:
    tensors = Tensors(shape_of())
    with Program(tmp_path, tensors) as program:
        named = {k["name"]: k["library"] for k in program.ask("describe")["kernels"]}
        assert set(named.values()) == {None}
        for kernel in ("torch", "numpy"):
            answer = program.prepare(kernel)
            assert answer["state"] == "unavailable"
            assert answer["why"].endswith(f"is not installed: scripts/rivals/setup {kernel}")


SHAPE = shape_of()
WRONG = [
    (b"no JSON", "the request is not JSON"),
    (b"[]", "the request is not a JSON object"),
    (b'{"action":"describe"}', "protocol None; this program speaks 1"),
    (b'{"protocol":2,"action":"describe"}', "protocol 2; this program speaks 1"),
    (b'{"protocol":1,"action":"dance"}', "no action 'dance'"),
    (b'{"protocol":1,"action":"execute","set":0}', "nothing is prepared"),
    (b'{"protocol":1,"action":"measure","calls":1,"first":0}', "nothing is prepared"),
    (b'{"protocol":1,"action":"prepare","kernel":"numpy"}', "`threads` is None"),
    (b'{"protocol":1,"action":"prepare","kernel":"fast","threads":1}', "no kernel 'fast'"),
    (b'{"protocol":1,"action":"prepare","kernel":"numpy","threads":1}', "`shape` is not"),
]


@pytest.mark.parametrize("line, why", WRONG, ids=[why for _, why in WRONG])
def test_wrong_requests(line: bytes, why: str) -> None:
    """One clear answer each, and the program goes on."""
    with Program() as program:
        answer = program.say(line)
        assert (answer["protocol"], answer["state"]) == (1, "failed")
        assert why in answer["why"]
        assert program.ask("describe")["state"] == "ok"


def test_wrong_file(home: Path) -> None:
    """The tensors are not those of the problem."""
    tensors = Tensors(shape_of(sq=3))
    with Program(home, tensors) as program:
        tensors.shape = shape_of(sq=4)
        answer = program.prepare("numpy")
        assert (answer["state"], answer["why"]) == (
            "failed",
            "tensor k.0 is (1, 1, 3, 16), the problem says (1, 1, 4, 16)",
        )
        os.ftruncate(tensors.fd, 4)
        answer = program.prepare("numpy")
        assert answer["why"] == "the memory file on descriptor 5 has 4 bytes"
