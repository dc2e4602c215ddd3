"""Libraries under kernels: those that are not there, and the choice of --blas."""

import os
import subprocess
import unittest

from command import (
    BASELINE,
    BESIDE,
    BRIEF,
    HANGS,
    PROGRAM,
    SANITIZED,
    TINY,
    UNCHECKED,
    CommandTest,
    run,
)

LOADED = {"gemm_blis": "BLIS", "gemm_mkl": "MKL", "onednn": "ONEDNN", "onednn_graph": "ONEDNN"}
NOWHERE = {f"ATTNBENCH_{name}": "/nowhere/lib.so" for name in LOADED.values()}

of_x86 = unittest.skipUnless(BASELINE == "baseline", "these libraries are called on x86 alone")


class Libraries(CommandTest):
    @of_x86
    def test_a_library_that_is_not_there_costs_its_own_rows(self) -> None:
        """The reason says how to get it, the session is as asked."""
        kernels = ",".join(["naive", "gemm", *LOADED])
        asked = ("--problem", TINY, "--kernel", kernels)
        found = self.cells_of("run", *asked, env={**os.environ, **NOWHERE})
        rows = {row["kernel"]: row for row in found}
        self.assertEqual([rows[name]["state"] for name in ("naive", "gemm")], ["ok", "ok"])
        for kernel in LOADED:
            self.assertEqual(rows[kernel]["state"], "unavailable")
            self.assertRegex(rows[kernel]["why"], r"apt-get install|scripts/rivals/setup")
            self.assertIsNone(rows[kernel]["library"])
            self.assertIsNone(rows[kernel]["blas"])

    @of_x86
    def test_check_too(self) -> None:
        asked = ("--problem", TINY, "--kernel", "gemm_blis")
        row = self.cell_of("check", *asked, code=1, env={**os.environ, **NOWHERE})
        self.assertEqual((row["state"], row["blas"]), ("unavailable", None))

    @of_x86
    def test_the_list_says_what_is_missing(self) -> None:
        variants = self.listed(env={**os.environ, **NOWHERE})["kernels"]
        loaded = [v for v in variants if v["name"] in LOADED]
        self.assertEqual({v["name"] for v in loaded}, set(LOADED))
        for variant in loaded:
            self.assertFalse(variant["available"])
            self.assertTrue(variant["needs"])
            self.assertEqual(variant["group"], "rivals")
        words = " ".join(run("list", env={**os.environ, **NOWHERE}).stdout.split())
        for kernel in LOADED:
            self.assertIn(f"{kernel} is unavailable: ", words)

    def loaders(self, *arguments: str) -> tuple[int, set[int]]:
        """The process of the program, and those that loaded a library that it looks for."""
        note = self.directory / "note"
        note.write_text("")
        named = {f"ATTNBENCH_{name}": os.environ["ATTNBENCH_NOTED"] for name in LOADED.values()}
        with subprocess.Popen(
            [PROGRAM, *arguments], env={**os.environ, **named, "ATTNBENCH_NOTE": str(note)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            self.assertEqual(process.wait(timeout=HANGS), 0)
        return process.pid, {int(pid) for pid in note.read_text().split()}

    @of_x86
    def test_the_program_itself_loads_none(self) -> None:
        """Workers do.  AddressSanitizer rules out loading some of them at all."""
        session = ["run", "--problem", TINY, "--threads", "1", *BRIEF, *UNCHECKED, *BESIDE,
                   "--output", self.output, "--kernel", ",".join(["naive", *LOADED])]  # fmt: skip
        for arguments in (["list"], ["list", "--json"], session):
            program, loaders = self.loaders(*arguments)
            self.assertNotIn(program, loaders)
            if not SANITIZED:
                self.assertGreaterEqual(len(loaders), 2)

    def test_all_leaves_them_out(self) -> None:
        kernels = {row["kernel"] for row in self.cells_of("run", "--problem", TINY)}
        self.assertIn("gemm", kernels)
        self.assertFalse(kernels & set(LOADED))


class Blas(CommandTest):
    @of_x86
    def test_each_library_is_a_row(self) -> None:
        asked = ("--problem", TINY, "--kernel", "gemm,naive", "--blas", "mkl,blis")
        rows = {row["kernel"]: row for row in self.cells_of("run", *asked)}
        self.assertEqual(set(rows), {"gemm_blis", "gemm_mkl", "naive"})
        # In their own words, which name the instructions that they use or the processor.
        called = {
            "gemm_blis": r"^BLIS \S+ \w+",
            "gemm_mkl": r"Math Kernel Library .*, .*(Extensions|SSE|processor)",
        }
        for kernel, library in called.items():
            row = rows[kernel]
            self.assertIn(row["state"], ("ok", "unavailable"))
            self.assertIn(f"--kernel {kernel}", row["repro"])
            if row["state"] == "ok":
                self.assertRegex(row["library"], library)

    def test_refusals(self) -> None:
        without_gemm = "gemm, which is not among the kernels"
        if BASELINE != "baseline":
            without_gemm = "kernel gemm_mkl is not built for this processor"
        for arguments, said in (
            (("--blas", "mlk"), "no CBLAS library 'mlk'; did you mean 'mkl'?"),
            (("--blas", ""), "is empty"),
            (("--blas", "mkl", "--kernel", "naive"), without_gemm),
        ):
            for command in ("run", "check"):
                done = self.ran(command, "--problem", TINY, *arguments, code=2)
                self.assertIn(said, " ".join(done.stderr.split()))

    @of_x86
    def test_one_core_type_a_variant(self) -> None:
        """Each library's own: what OpenBLAS runs says nothing of BLIS."""
        asked = ("--problem", TINY, "--kernel", "gemm", "--blas", "openblas,blis")
        rows = self.cells_of("run", *asked, "--threads", "1,2", code=None)
        if self.done.returncode == 2:
            self.assertIn("not with OpenBLAS", self.done.stderr)
            self.skipTest("linked with another library")
        self.assertEqual(len(rows), 4)
        for kernel in ("gemm", "gemm_blis"):
            one, two = (row for row in rows if row["kernel"] == kernel)
            self.assertEqual(one["blas"], two["blas"])
            if one["state"] == "ok":
                self.assertIn(one["blas"]["core"], one["blas"]["tried_s"] or one["blas"]["core"])
        self.assertLessEqual(self.done.stdout.count("gemm/avx512 runs the BLAS"), 1)

    def test_a_check_tries_no_core_type(self) -> None:
        """Nothing is timed, so that none is the fastest: every check is of the same one."""
        row = self.cell_of("check", "--problem", TINY, "--kernel", "gemm")
        self.assertEqual((row["state"], row["blas"]["tried_s"]), ("ok", {}))
        self.assertTrue(row["blas"]["core"])
        self.assertNotIn("trying a core type", self.done.stderr)
