"""Settings that a library reads from its environment when it is loaded, by library.

Each is what the library's documentation recommends for one model on given cores; docs/rivals.md
quotes the pages.
"""

import os
from pathlib import Path

# Results of some megabytes are returned to the system and taken from it again at every call unless
# malloc is told to keep them.  PyTorch's tuning guide advises jemalloc or TCMalloc for that (Tuning
# guide, "Switch memory allocator"); glibc's own switches (mallopt(3)) need no other library.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**34)}


def cache() -> Path:
    """Where compiled code is kept between processes."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "attnbench" / "rivals"


def openmp(threads: int, cpus: list[int]) -> dict[str, str]:
    """A team of GNU OpenMP with a core for each thread, where there are as many."""
    settings = {"OMP_NUM_THREADS": str(threads)}
    if len(cpus) == threads:
        settings["OMP_PROC_BIND"] = "CLOSE"
        settings["OMP_PLACES"] = ",".join(f"{{{cpu}}}" for cpu in cpus)
    return settings


def torch(threads: int, cpus: list[int]) -> dict[str, str]:
    """docs.pytorch.org, Performance Tuning Guide, "Utilize OpenMP": GNU OpenMP.

    Inductor compiles in this process alone, and keeps what it compiled.
    """
    return {
        **openmp(threads, cpus),
        "OMP_SCHEDULE": "STATIC",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(cache() / "torch"),
    }


def serial_numpy(_threads: int, _cpus: list[int]) -> dict[str, str]:
    """NumPy, which only wraps, is kept serial; calls tell ggml, ONNX Runtime and OpenVINO."""
    return {"OPENBLAS_NUM_THREADS": "1"}


def jax(threads: int, _cpus: list[int]) -> dict[str, str]:
    """XLA's CPU client makes as many threads as NPROC says, else as it may run on CPUs.

    (xla/pjrt/utils.cc, DefaultThreadPoolSize; there is no documented setting, jax issue 1539.)
    """
    return {"JAX_PLATFORMS": "cpu", "NPROC": str(threads), "OPENBLAS_NUM_THREADS": "1"}


def numpy(threads: int, _cpus: list[int]) -> dict[str, str]:
    """numpy.org, Global Configuration Options: the wheels' BLAS is OpenBLAS."""
    return {"OPENBLAS_NUM_THREADS": str(threads)}


def vllm(threads: int, cpus: list[int]) -> dict[str, str]:
    """GNU OpenMP bound to cores, as its VLLM_CPU_OMP_THREADS_BIND does (docs.vllm.ai, CPU)."""
    return openmp(threads, cpus)


ENVIRONMENTS = {f.__name__: f for f in (torch, jax, numpy, vllm)} | dict.fromkeys(
    ("onnxruntime", "openvino", "ggml"), serial_numpy
)


def environment(library: str, threads: int, cpus: list[int]) -> dict[str, str]:
    """All settings for a library on that many threads on those CPUs, which are noted themselves."""
    noted = {"ATTNBENCH_RIVALS_CPUS": ",".join(map(str, cpus))}
    return {**noted, **KEEP_MEMORY, **ENVIRONMENTS[library](threads, cpus)}
