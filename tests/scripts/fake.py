"""Makes programs that behave as `attnbench run` does, with times from a formula."""

import contextlib
import functools
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType
from unittest import mock

import sample

# Started a thousand times: without what Python does for packages, each import where it is needed.
SCRIPT = """#!{python} -IS
import json, os, random, sys, time
settings = json.loads({settings!r})
if sys.argv[1] == "list":
    names = {{"flash", "gemm"}} - set(settings.get("lacks", "").split(","))
    print(json.dumps({{"kernels": [{{"name": name, "isa": isa, "available": isa != "avx512"}}
                                  for name in names
                                  for isa in ("baseline", "avx2", "avx512")]}}))
    sys.exit(0)
if "sleep" in settings:
    time.sleep(settings["sleep"])
options, name = {{}}, None
for word in sys.argv[2:]:
    if word.startswith("--"):
        name = word[2:]
    else:
        options[name] = word
with open({log!r}, "a") as log:
    log.write({side!r} + "\\n")
launches = open({log!r}).read().split().count({side!r})
if launches == settings.get("queued"):
    sys.stderr.write("attnbench: run (process 7) is measuring on this machine: waiting "
                     "(--if-busy go-on measures beside it)\\n")
    sys.stderr.flush()
    time.sleep(settings.get("waits", 1))
must = settings.get("must", [])
if sys.argv[1] == "run" and "output" in options:  # the pilot, which selects
    for name, value in zip(must[::2], must[1::2]):
        if options.get(name[2:]) != value or "suite" in options:
            sys.exit(2)
if settings.get("unknown") in options:
    sys.stderr.write("attnbench: unknown option --" + settings["unknown"] + "\\n")
    sys.exit(2)
if settings.get("usage") or set(options.get("kernel", "").split(",")) & set(
        settings.get("lacks", "-").split(",")):
    sys.stderr.write("attnbench: no kernel of this name\\n")
    sys.exit(2)
rng = random.Random({side!r} + options["seed"])
groups = {{"ours": ["flash"], "textbook": []}}
kernels = [k.split("/")[0] for word in options.get("kernel", "flash").split(",")
           for k in groups.get(word, [word])]
with open(options.get("output") or options["resume"], "a") as out:
    session = json.loads({session!r})
    session["build"].update(settings.get("build", {{}}))
    session["machine"].update(settings.get("machine", {{}}))
    session["command"] = sys.argv[1:]
    session["resumed"] = "resume" in options
    out.write(json.dumps(session) + "\\n")
    if not session["resumed"]:
        out.write('{{"type":"check","kernel":"' + kernels[0] + '"}}\\n')
    for kernel in kernels:
        if kernel in settings.get("lacks", "").split(","):
            continue
        row = json.loads({cell!r})
        row["kernel"] = kernel
        if kernel in settings.get("rivals", []):
            row["group"] = "rivals"
        seconds = 1e-3 * settings["factor"] * max(0.01, 1 + settings["noise"] * rng.gauss(0, 1))
        if "plugin" in options:  # its content is by what it is slower
            import hashlib
            content = open(options["plugin"], "rb").read()
            row["plugin"] = "sha256:" + hashlib.sha256(content).hexdigest()
            seconds *= float(content)
        seconds *= float(os.environ.get("FAKE_FACTOR", 1))
        seconds *= {{"threads": 1.05}}.get(options.get("placement"), 1)
        row["time"]["median_s"] = row["time"]["min_s"] = row["time"]["p05_s"] = seconds
        row["time"]["launch_medians_s"] = [seconds]
        count = 1e6 * settings["factor"]
        row["counters"] = {{"instructions": count, "cycles": 2 * count}}
        if settings.get("counters") is False:
            row["counters"] = {{"instructions": None, "cycles": None, "why": "no counters"}}
        if sys.argv[1] == "check":
            row["time"] = None
        row["placement"] = options.get("placement", "cores")
        row["memory"] = options.get("memory", "first-touch")
        row["huge_pages"] = "--huge-pages" in sys.argv
        row["huge_bytes"] = 6291456 if row["huge_pages"] else None
        if settings.get("state", "ok") != "ok" and kernel == settings.get("broken", kernel):
            row["state"], row["why"] = settings["state"], "row 3 is off"
        if launches in settings.get("disturbed", []):
            row["state"], row["why"] = "implausible", "119 % of the multiply-add rate"
        out.write(json.dumps(row) + "\\n")
    out.write('{{"type":"end","complete":true}}\\n')
"""


def script(path: Path, text: str) -> Path:
    """Writes a text that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def program(
    path: Path,
    factor: float = 1.0,
    noise: float = 0.003,
    log: Path | None = None,
    **settings: object,
) -> Path:
    """Writes a program whose kernels take `factor` milliseconds with relative `noise`."""
    settings |= {"factor": factor, "noise": noise}
    text = SCRIPT.format(
        python=sys.executable,
        settings=json.dumps(settings),
        log=str(log or "/dev/null"),
        side=path.name,
        session=json.dumps(sample.session()),
        cell=json.dumps(sample.cell([1e-3])),
    )
    return script(path, text)


@functools.cache
def _compiled(script: str) -> CodeType:
    return compile(script, "fake", "exec")


def _executed(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
    """How such a program ends and what it prints, in no process: that would take longer than it."""
    code, out, said = 0, io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", list(command)),
        mock.patch.dict(os.environ, environment, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
    ):
        try:
            exec(_compiled(Path(command[0]).read_text()), {"__name__": "__main__"})
        except SystemExit as ended:
            code = ended.code or 0
    return code, out.getvalue(), said.getvalue()


def run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bytes]:
    """In place of gate_launch._run."""
    code, _, said = _executed(command, environment)
    return code, said.encode()


def listed(command: Sequence[str]) -> str:
    """In place of gate_builds._listed."""
    return _executed(command, os.environ)[1]
