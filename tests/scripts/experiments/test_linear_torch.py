"""scripts/dev/studies/linear_torch.py: the table of a file whose times are known."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/dev/studies/linear_torch.py"

FILE = """# a machine
launch,what,d,tokens,parameter_s,linear_s,functional_s
1,call,3,16,2e-06,4e-06,2e-06
2,call,3,16,3e-06,4e-06,2e-06
3,call,3,16,1e-06,4e-06,2e-06
1,make,3,0,1e-06,1e-05,
"""


def printed(path: Path, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--read", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_ratios_are_launch_by_launch(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(FILE)
    assert printed(path).splitlines()[2:] == [
        "| call | 3 | 16 | 2 | 4 | 0.50 [0.25, 0.75] | 1.00 [0.50, 1.50] |",
        "| make | 3 |  | 1 | 10 | 0.10 [0.10, 0.10] |  |",
    ]


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text in ("", "# nothing\n", "a,b\n1,2\n"):
        path.write_text(text)
        assert printed(path, 1) == f"{path}: is not what --output writes\n"
    path.unlink()
    assert printed(path, 1) == f"{path}: No such file or directory\n"
