"""scripts/dev/studies/suites.py: shares, bars and times of a session whose cells are known."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "dev" / "studies" / "suites.py"


def cell(case: str, kernel: str, threads: int, seconds: float, **more: object) -> dict[str, object]:
    """Return a measured cell of 90 % of the multiply-adds and half the bandwidth."""
    return {
        "type": "cell",
        "state": "ok",
        "case": case,
        "kernel": kernel,
        "isa": "avx512",
        "threads": threads,
        "time": {"median_s": seconds, "ci95_s": [0.8 * seconds, 1.25 * seconds]},
        "fraction_of_fma": 0.9,
        "fraction_of_bandwidth": 0.5,
        **more,
    }


class Suites(unittest.TestCase):
    def printed(self, *cells: dict[str, object]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / f"{half}.jsonl" for half in (0, 1)]
            for half, path in enumerate(paths):
                text = "".join(json.dumps(row) + "\n" for row in cells[half::2])
                path.write_text(text, encoding="utf-8")
            command = [sys.executable, str(SCRIPT), *map(str, paths)]
            return subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.splitlines()

    def test_a_case_has_the_faster_of_ours_against_the_rival(self) -> None:
        case = "prefill-f32-s1024-d64"
        lines = self.printed(
            {"type": "session"},
            cell(case, "flash", 1, 2.0),
            cell(case, "flash", 1, 3.0, isa="avx2"),
            cell(case, "split_kv", 1, 2.5),
            cell(case, "gemm", 1, 3.0),
            cell(case, "flash", 2, 1.0, state="wrong"),
            cell(case, "split_kv", 2, 2.0, fraction_of_fma=0.4),
        )
        self.assertEqual(
            lines[-1], f"| `{case}` | flash, split_kv | 90 [72 112] | 40 [32 50] | 1.50 / - |"
        )

    def test_a_bar_counts_the_cases_that_reach_it(self) -> None:
        few = {"time": {"median_s": 1.0, "ci95_s": None}}
        lines = self.printed(
            cell("prefill-f32-s512-d64", "flash", 1, 1.0, fraction_of_fma=0.1),
            cell("prefill-f32-s1024-d64", "flash", 1, 1.0, fraction_of_fma=0.955),
            cell("prefill-f32-s2048-d64", "flash", 1, 1.0, fraction_of_fma=0.915, **few),
            cell("prefill-f32-s4096-d64-causal", "flash", 1, 1.0, fraction_of_fma=0.935),
            cell("decode-bf16-s16384-g8-d128", "split_kv", 2, 1.0, fraction_of_fma=0.2,
                 fraction_of_bandwidth=0.5, fraction_of_bandwidth_in_place=0.91),
            cell("decode-f32-s1024-g8-d128", "split_kv", 1, 1.0, fraction_of_fma=0.76),
        )  # fmt: skip
        self.assertIn("| f32 prefill | 91.5, 93.5, 95.5 (94: 1 of 2) |  |", lines)
        self.assertIn("| f32 causal from S=4096 on | 93.5 (93.5: 1 of 1) |  |", lines)
        self.assertIn("| bf16 decode from memory, group 8 |  | 91.0 (90: 1 of 1) |", lines)
        self.assertIn("| f32 decode in caches, groups 4 and 8 |  | 76.0 (75: 1 of 1) |", lines)
        self.assertIn("| `prefill-f32-s2048-d64` | flash | 92? | - | - / - |", lines)

    def test_the_rival_is_met_in_cases_of_a_kind(self) -> None:
        times = {("prefill-f32-s1024-d64", 1): 1.25, ("prefill-f32-s512-d64", 1): 1.5}
        times |= {("prefill-f32-s512-d64", 2): 1.2, ("prefill-f32-s512-d64-causal", 1): 1.2}
        times |= {("short-f32-b1-h12-s128-d64", threads): 1.5 for threads in (1, 2)}
        cells = [
            cell(case, kernel, threads, seconds)
            for (case, threads), ratio in times.items()
            for kernel, seconds in (("flash", 1.0), ("gemm", ratio))
        ]
        lines = self.printed(*cells, cell("decode-bf16-s1024-g8-d128", "split_kv", 1, 1.0))
        self.assertIn("| dense prefill | 1.20, 1.25, 1.50 (1.25: 2 of 3) |", lines)
        self.assertIn("| causal prefill | 1.20 (1.3: 0 of 1) |", lines)
        self.assertIn("| short | 1.50, 1.50, 1.50 (1.5: 2 of 2) |", lines)
        self.assertFalse([line for line in lines if line.startswith("| decode |")])


if __name__ == "__main__":
    unittest.main()
