"""Completion in three shells, and manual pages: what is printed, and what others make of it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from command import PROGRAM, SANITIZED_IN_CI, CommandTest, run

COMMANDS = [line.split("\t")[0] for line in run("complete", "").stdout.splitlines()]

# How a shell completes the words "$@", the last maybe empty: a line each, `files` for a file.
TRIES = {
    "bash": r"""
        compopt() { [[ "$*" == '-o default' ]] && echo files; }
        source <("$1" completion bash)
        [[ $(complete -p attnbench) == *'-F _attnbench attnbench' ]] || exit 1
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _attnbench
        ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
    """,
    "zsh": r"""
        compdef() { [[ "$*" == '_attnbench attnbench' ]] || exit 1; }
        _describe() { print -rl -- "${(@)${(@P)2}%%:*}"; }
        _files() { print files; }
        source <("$1" completion zsh)
        words=("$@") CURRENT=$#
        _attnbench
    """,
    "fish": r"""
        "$argv[1]" completion fish | source
        function __fish_complete_path; echo "$argv[1]files"; end
        complete -C "attnbench "(string join ' ' -- $argv[2..-1]) | string split -f1 \t
        true
    """,
}


def shells() -> list[str]:
    """Those that this host has; the program answers all of them alike."""
    return [shell for shell in TRIES if shutil.which(shell)][: 1 if SANITIZED_IN_CI else None]


def completed(shell: str, *words: str) -> list[str]:
    """What the shell offers for the last of these words behind the program's name."""
    options = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}[shell]
    name = [] if shell == "fish" else ["-"]
    done = subprocess.run(
        [shell, *options, TRIES[shell], *name, PROGRAM, *words],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return sorted(done.stdout.split())


class Completion(CommandTest):
    def test_each_shell_reads_its_script(self) -> None:
        for shell in shells():
            script = self.ran("completion", shell)
            with tempfile.NamedTemporaryFile("w", suffix=f".{shell}") as file:
                file.write(script.stdout)
                file.flush()
                flag = "--no-execute" if shell == "fish" else "-n"
                done = subprocess.run([shell, flag, file.name], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""), shell)

    def test_each_shell_completes_commands_options_and_values(self) -> None:
        for shell in shells():
            with self.subTest(shell):
                self.assertEqual(completed(shell, ""), sorted(COMMANDS))
                self.assertEqual(completed(shell, "ru"), ["run"])
                self.assertEqual(completed(shell, "run", "--pl"), ["--placement", "--plugin"])
                self.assertEqual(
                    completed(shell, "run", "--placement", ""),
                    ["cores", "none", "numa", "threads"],
                )
                self.assertEqual(
                    completed(shell, "check", "--kernel", "naive,onl"), ["naive,online"]
                )
                self.assertEqual(completed(shell, "run", "--suite", "pre"), ["prefill"])
                self.assertEqual(
                    completed(shell, "run", "--case", "x,decode-bf16-s4096-g4-"),
                    ["x,decode-bf16-s4096-g4-d128", "x,decode-bf16-s4096-g4-d64"],
                )
                self.assertEqual(completed(shell, "tune", "--model", "phi-2"), ["phi-2"])
                self.assertEqual(completed(shell, "experiment", "rescal"), ["rescale"])
                self.assertEqual(completed(shell, "completion", ""), ["bash", "fish", "zsh"])
                self.assertEqual(completed(shell, "run", "--seconds", ""), [])

    def test_each_shell_completes_files_where_they_belong(self) -> None:
        for shell in shells():
            for words in (["--output", ""], ["--suite", "./"], ["--model", "./"]):
                begin = words[-1] if shell == "fish" else ""  # others know where a file begins
                self.assertEqual(completed(shell, "run", *words), [begin + "files"], shell)

    def test_a_value_may_stand_behind_an_equals_sign(self) -> None:
        for shell, words, expected in (
            ("bash", ["--kernel", "=", "onl"], "online"),
            ("bash", ["--placement", "="], "cores none numa threads"),
            ("zsh", ["--kernel=onl"], "--kernel=online"),
            ("fish", ["--kernel=onl"], "--kernel=online"),
        ):
            if shutil.which(shell):
                self.assertEqual(completed(shell, "run", *words), expected.split(), shell)

    def test_keys_of_a_problem_but_not_their_values(self) -> None:
        for shell, words, expected in (
            ("bash", ["--problem", "kv_d"], "kv_dtype="),
            ("bash", ["--problem", "=", "b", "=", "1,hq", "=", "4,kv_d"], "4,kv_dtype="),
            ("bash", ["--problem", "b", "=", "1,kv_dtype", "="], ""),
            ("bash", ["--problem", "b", "=", "1,hq", "=", "k"], ""),
            ("zsh", ["--problem", "b=1,kv_d"], "b=1,kv_dtype="),
            ("fish", ["--problem", "b=1,kv_d"], "b=1,kv_dtype="),
            ("fish", ["--problem=kv_d"], "--problem=kv_dtype="),
        ):
            if shutil.which(shell):
                self.assertEqual(completed(shell, "run", *words), expected.split(), shell)

    def test_all_options_and_names_are_there(self) -> None:
        """Those that help and list print."""
        for command in sorted({*COMMANDS} - {"help"}):  # whose page lists topics
            words = run("complete", command, "--").stdout.splitlines()
            page = run(command, "--help").stdout
            self.assertEqual(
                [word.split("\t")[0] for word in words], re.findall(r"(?m)^  (--[a-z-]+)", page)
            )
        listed = self.listed()
        kernels = self.offered("run", "--kernel")
        self.assertLessEqual(
            {one["name"] for one in listed["kernels"] if one["group"] != "rivals"}, kernels
        )
        self.assertLessEqual({"gemm", "rivals", "best", "all"}, kernels)
        for words, names in (
            (["run", "--suite"], {suite["name"] for suite in listed["suites"]} | {"all"}),
            (["run", "--model"], set(listed["models"])),
            (["experiment"], {one["name"] for one in listed["experiments"]} | {"all"}),
        ):
            self.assertEqual(self.offered(*words), names)

    def offered(self, *words: str) -> set[str]:
        """What may stand behind these words."""
        lines = run("complete", *words, "").stdout.splitlines()
        return {line.split("\t")[0] for line in lines}

    def test_an_experiments_own_options_are_its(self) -> None:
        own = run("complete", "experiment", "softmax", "--").stdout
        self.assertIn("--keys\t", own)
        self.assertIn("--seed\t", own)
        self.assertNotIn("--keys\t", run("complete", "experiment", "--").stdout)
        self.assertIn("--launches\t", run("complete", "experiment", "tiles", "--").stdout)

    def test_an_unknown_shell_is_refused_with_the_three(self) -> None:
        self.refused(["completion", "bsh"], 2, "no completion for shell 'bsh'; did you mean 'bash'")
        self.refused(["completion"], 2, "shells are bash, zsh, fish")


class Manual(CommandTest):
    def test_each_command_has_a_page_with_its_options(self) -> None:
        for command in COMMANDS:
            page = run("help", command, "--man").stdout
            self.assertTrue(page.startswith(f'.TH "attnbench-{command}" 1'), page[:60])
            for line in run("complete", command, "--").stdout.splitlines():
                option = line.split("\t")[0].replace("-", "\\-")
                self.assertIn(f"\\fB{option}\\fR", page)
        overview = run("help", "--man").stdout
        for command in COMMANDS:
            self.assertIn(f".TP\n\\fB{command}\\fR\n", overview)
        no_command = "--man takes a command: no command 'flags'; commands are list, run, check, "
        self.refused(["help", "flags", "--man"], 2, no_command)
        said = "--man takes a command: no command 'chekc'; did you mean 'check'?"
        self.refused(["help", "chekc", "--man"], 2, said)

    def test_pages_are_right_for_man_and_mandoc(self) -> None:
        tools = {
            "man": ["man", "-l", "--warnings"],
            "mandoc": ["mandoc", "-Tlint", "-W", "warning"],
        }
        for words in [[], *([command] for command in COMMANDS)]:
            with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
                file.write(run("help", *words, "--man").stdout)
                file.flush()
                for tool in filter(shutil.which, tools):
                    done = subprocess.run(
                        [*tools[tool], file.name], capture_output=True, text=True, check=False
                    )
                    said = (done.stderr + (done.stdout if tool == "mandoc" else "")).splitlines()
                    # a page has no date: that of its build would make two builds differ
                    self.assertEqual([x for x in said if "missing date" not in x], [], words)
