"""The experiment words: its matrices against an independent computation, and its refusals."""

import math
import re
from typing import Any

from command import BRIEF, DATA, CommandTest, Row, lines, read_safetensors, safetensors
from definition import Array, Attention, attention
from experiments import Experiments

ROOT = DATA.parents[1]
PREAMBLE = DATA / "minilm-preamble.safetensors"
Matrix = list[list[float]]

# Results have nine digits: q and k of at most 8 are off by 5e-9 each, their products over 5
# dimensions by 4e-7, weights by less.
NINE_DIGITS = 4e-7


def matrix(tensor: tuple[list[int], list[float]]) -> Matrix:
    """The rows of a tensor whose first dimensions are 1."""
    shape, values = tensor
    return [values[at : at + shape[-1]] for at in range(0, len(values), shape[-1])]


def product(a: Matrix, b: Matrix) -> Matrix:
    """A b."""
    columns = list(zip(*b, strict=True))
    return [[math.fsum(map(float.__mul__, row, c)) for c in columns] for row in a]


def by_definition(q: Matrix, k: Matrix, v: Matrix, **options: Any) -> tuple[Matrix, Matrix]:
    """Weights and outputs of one head."""

    def array(x: Matrix) -> Array:
        return Array([1, 1, len(x), len(x[0])], [value for row in x for value in row])

    done = attention(Attention(array(q), array(k), array(v), **options))
    return matrix((done["weights"].shape, done["weights"].values)), matrix(
        (done["o"].shape, done["o"].values)
    )


class Words(Experiments):
    def matrices(self, rows: list[Row], layer: str) -> dict[tuple[Any, ...], Row]:
        """Values by (head, mask, matrix); head and mask are None where a matrix is of none."""
        return {
            (r["params"].get("head"), r["params"].get("mask"), r["params"]["matrix"]): r["values"]
            for r in rows
            if r["params"]["part"] == "matrix" and r["params"]["layer"] == layer
        }

    def assert_near(self, got: Matrix, expected: Matrix, off: float) -> None:
        self.assertEqual([len(row) for row in got], [len(row) for row in expected])
        for a, b in zip(got, expected, strict=True):
            for x, y in zip(a, b, strict=True):
                self.assertLessEqual(abs(x - y), off, (got, expected))

    def test_a_sentence_from_embeddings_to_outputs(self) -> None:
        asked = ("--parts", "sentence", "--sentence", "Two birds  saw two Cats", "--heads", "3",
                 "--d", "5")  # fmt: skip
        rows = self.rows("words", *asked, "--threads", "1")
        self.assertEqual(rows, self.rows("words", *asked, "--threads", "2"))
        (tokens,) = (r["values"] for r in rows if r["params"]["part"] == "tokens")
        self.assertEqual(tokens["tokens"], ["two", "birds", "saw", "two", "cats"])
        self.assertEqual(tokens["places"], [0, 1, 2, 3, 4])
        found = self.matrices(rows, "sentence")
        x = found[None, None, "X"]["elements"]
        self.assertEqual(found[None, None, "X"]["shape"], [5, 15])
        self.assertEqual(x[0], x[3])  # one embedding a word
        self.assertEqual(len({tuple(row) for row in x}), 4)
        for head in range(3):
            own = slice(5 * head, 5 * head + 5)
            q, k, v = (
                product(x, [row[own] for row in found[None, None, f"W{n}"]["elements"]])
                for n in "qkv"
            )
            for name, expected in (("Q", q), ("K", k), ("V", v)):  # by CBLAS in float32
                self.assert_near(found[head, None, name]["elements"], expected, 2e-6)
            q, k, v = (found[head, None, name]["elements"] for name in "QKV")
            scores = product(q, [list(column) for column in zip(*k, strict=True)])
            self.assert_near(found[head, None, "scores"]["elements"], scores, NINE_DIGITS)
            scaled = [[s / math.sqrt(5) for s in row] for row in scores]
            self.assert_near(found[head, None, "scaled scores"]["elements"], scaled, NINE_DIGITS)
            for mask, causal in (("none", False), ("causal", True)):
                weights, o = by_definition(q, k, v, is_causal=causal)
                self.assert_near(found[head, mask, "weights"]["elements"], weights, NINE_DIGITS)
                self.assert_near(found[head, mask, "output"]["elements"], o, 2 * NINE_DIGITS)
                weights, _ = by_definition(q, k, v, is_causal=causal, scale=1)
                self.assert_near(
                    found[head, mask, "weights of scores"]["elements"], weights, NINE_DIGITS
                )
        other = self.rows("words", *asked, "--seed", "2")
        self.assertNotEqual(self.matrices(other, "sentence")[None, None, "X"]["elements"], x)

    def test_a_trained_layer_as_its_file_has_it(self) -> None:
        rows = self.rows("words", "--parts", "trained", "--show", "6", "--quick")
        layer = "minilm-preamble.safetensors:layer1."
        found, file = self.matrices(rows, layer), read_safetensors(str(PREAMBLE))
        texts = (DATA / "minilm-preamble.tokens").read_text().split()
        (tokens,) = (r["values"] for r in rows if r["params"]["part"] == "tokens")
        places = [0, 1, 2, 3, 4, 67]
        self.assertEqual(tokens["tokens"], ["[CLS]", "we", "the", "people", "of", "[SEP]"])
        self.assertEqual((tokens["places"], tokens["count"]), (places, 68))
        self.assertNotIn((None, None, "Wq"), found)  # 384 x 64
        x = matrix(file["layer1.x"])
        self.assert_near(found[None, None, "X"]["elements"], [x[i][:6] for i in places], 5e-9)
        for head in (0, 1):
            rows_of = slice(68 * head, 68 * head + 68)
            q, k, v, o = (matrix(file[f"layer1.{n}"])[rows_of] for n in "qkvo")
            for name, expected in (("Q", q), ("K", k), ("V", v)):  # as the model computed them
                shown = [expected[i][:6] for i in places]
                self.assert_near(found[head, None, name]["elements"], shown, 1e-5)
            shown = [o[i][:6] for i in places]
            self.assert_near(found[head, "none", "output"]["elements"], shown, 1e-5)
            for mask, causal in ((("none", False), ("causal", True))[head],):
                weights, _ = by_definition(q, k, v, is_causal=causal)
                self.assert_near(
                    found[head, mask, "weights"]["elements"],
                    [[weights[i][j] for j in places] for i in places], 2e-5)  # fmt: skip
                (values,) = (r["values"] for r in rows if r["params"] == {
                    "part": "head", "layer": layer, "head": head, "mask": mask})  # fmt: skip
                self.looked(values, weights, texts, causal)

    def looked(self, values: Row, p: Matrix, texts: list[str], causal: bool) -> None:
        """The numbers of a head, recomputed from the weights of the file."""
        n = len(p)
        places = {
            "previous": lambda i, j: j == i - 1,
            "itself": lambda i, j: j == i,
            "next": lambda i, j: j == i + 1,
            "equal": lambda i, j: j != i and texts[j] == texts[i],
            "token": lambda _, j: j == values["token_place"],
        }
        for name, there in places.items():
            seen = [(i, j) for i in range(n) for j in range(i + 1 if causal else n) if there(i, j)]
            even = math.fsum(1 / (i + 1 if causal else n) for i, _ in seen) / n
            weight = math.fsum(p[i][j] for i, j in seen) / n
            largest = sum(p[i][j] == max(p[i]) for i, j in seen)
            self.assertAlmostEqual(values[name]["weight"], weight, delta=1e-5, msg=name)
            self.assertAlmostEqual(values[name]["even"], even, delta=1e-8, msg=name)
            self.assertEqual(values[name]["largest"], largest, name)
        in_use = math.fsum(math.exp(-math.fsum(x * math.log(x) for x in row if x)) for row in p) / n
        self.assertAlmostEqual(values["keys_in_use"], in_use, delta=1e-3)
        received = [math.fsum(row[j] for row in p) for j in range(n)]
        self.assertEqual(values["token_place"], received.index(max(received)))
        self.assertEqual(values["token_text"], texts[values["token_place"]])

    def test_every_layer_of_the_data(self) -> None:
        rows = self.rows("words", "--parts", "trained", "--show", "4")
        heads = [r for r in rows if r["params"]["part"] == "head"]
        self.assertEqual(len(heads), 2 * (2 + 4 + 4))
        for row in heads:
            values = row["values"]
            self.assertLessEqual(values["kernels_difference"], values["kernels_tolerance"], row)
            self.assertEqual("output_difference" in values, row["params"]["mask"] == "none")
        peaked = next(r["values"] for r in heads if r["params"] == {
            "part": "head", "layer": "minilm-gettysburg.safetensors:layer0.", "head": 2,
            "mask": "none"})  # fmt: skip
        self.assertAlmostEqual(peaked["keys_in_use"], 1.4, delta=0.05)  # tests/data/README.md
        self.assertLess(peaked["unscaled_keys_in_use"], 1.1)
        self.assertIn(
            "Head 2 looks at the previous token with 0.75", " ".join(self.printed.split())
        )

    def own_layer(self, change: str = "", tokens: str = "") -> tuple[str, ...]:
        """The arguments for a copy of the file, one of whose tensors is changed."""
        file = read_safetensors(str(PREAMBLE))
        if change:
            file[change][1][0] += 0.01
        safetensors(self.directory / "own.safetensors", file)
        (self.directory / "own.tokens").write_text(tokens or "word\n" * 68)
        layer = f"{self.directory}/own.safetensors:layer1."
        return ("experiment", "words", "--parts", "trained", "--trained", layer)

    def test_an_output_that_differs_is_said(self) -> None:
        self.ran(*self.own_layer())
        done = self.ran(*self.own_layer("layer1.o"), code=1)
        self.assertIn("Head 0 DIFFERS: its output from the file's by 0.01,", done.stdout)
        self.assertNotIn("Head 1 DIFFERS", done.stdout)

    def test_a_layer_that_is_not_a_number_is_said(self) -> None:
        file = read_safetensors(str(PREAMBLE))
        file["layer1.x"][1][0] = math.nan
        arguments = self.own_layer()
        safetensors(self.directory / "own.safetensors", file)
        done = self.ran(*arguments, code=1)
        self.assertIn("Head 0 DIFFERS: weights of", done.stdout)

    def test_tokens_are_harmless(self) -> None:
        rows = self.rows(*self.own_layer(tokens="\x1b[31m\n" + "\xff\n" * 67)[1:])
        tokens = next(row for row in rows if row["params"]["part"] == "tokens")
        self.assertEqual(tokens["values"]["tokens"][0], "\\x1b[31m")
        self.assertNotIn("\x1b[31m", self.printed)

    def test_files_that_are_not_right_are_named(self) -> None:
        def refused(code: int, message: str, *arguments: str) -> None:
            done = self.ran(*arguments, code=code)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

        trained = ("experiment", "words", "--parts", "trained", "--trained")
        own = self.own_layer(tokens="word\n" * 67)
        refused(3, "own.tokens: 67 tokens, and layer1.* of ", *own)
        refused(3, "own.tokens:2: longer than 62 bytes", *self.own_layer(tokens="a\n" + 99 * "b"))
        (self.directory / "own.tokens").unlink()
        refused(3, "own.tokens: No such file", *own)
        refused(3, "x.safetensors: No such file", *trained, "x.safetensors:layer1.")
        refused(3, "there is no tensor layer9.q;", *trained, "minilm-preamble.safetensors:layer9.")
        flat = self.directory / "flat.safetensors"
        safetensors(flat, {n: ([2, 3], [0.0] * 6) for n in "qkv"})
        refused(3, "q is f32 (2,3), not (1,H,S,D)", *trained, f"{flat}:")
        safetensors(flat, {n: ([1, 1, 2 + (n == "v"), 1], [0.0] * (2 + (n == "v"))) for n in "qkv"})
        refused(3, "v is f32 (1,1,3,1), not (1,H,S,D) with the heads and tokens of q", *trained,
                f"{flat}:")  # fmt: skip
        refused(
            2, "--trained takes all, or FILE:PREFIX,...: 'x.safetensors'", *trained, "x.safetensors"
        )
        refused(2, "--trained names no layer; --parts sentence leaves them out", *trained, "")
        sentence = ("experiment", "words", "--sentence")
        refused(2, f"shorter than 512 bytes: '{60 * 'a'}..'", *sentence, 600 * "a")
        refused(2, "--sentence takes 1 to 64 words: it has 0", *sentence, " ")
        refused(2, "--sentence takes 1 to 64 words: it has 65", *sentence, 65 * "a ")


class Page(CommandTest):
    """docs/attention.md: its commands are those of this program, and its figures are there."""

    page = (ROOT / "docs" / "attention.md").read_text().replace("\\\n", "")
    commands = re.findall(r"^    (build/release/attnbench|scripts/plot) (.*)$", page, re.M)

    def test_commands_of_the_program_work(self) -> None:
        known = {e["name"] for e in self.listed()["experiments"]}
        named = set()
        for words in (text.split() for program, text in self.commands if "attnbench" in program):
            if words[0] == "experiment":
                self.assertEqual(words[2:], ["--output", f"{words[1]}.jsonl", "--force"])
                named.add(words[1])
                continue
            words[words.index("--output") + 1] = str(self.directory / words[0])
            small = [word.replace("skv=131072", "skv=1024") for word in words]
            # two threads that wait for each other take minutes beside other tests
            small = [{"170": "0.1", "1,2": "1"}.get(word, word) for word in small]
            self.ran(*small, *(BRIEF if words[0] == "run" else []), cwd=ROOT)
        self.assertEqual(named - known, set())
        self.assertIn("words", named)

    def test_what_is_drawn_is_there(self) -> None:
        made = re.findall(r"--output (\S+)", self.page)
        plots = [text.split()[0] for program, text in self.commands if program == "scripts/plot"]
        self.assertGreater(len(plots), 8)
        for file in plots:
            self.assertTrue(file in made or (ROOT / file).is_file(), file)
        for link in re.findall(r"\]\(([^)#:]+)\)", self.page):
            self.assertTrue((ROOT / "docs" / link).is_file(), link)

    def test_the_row_by_hand_is_that_of_the_figure(self) -> None:
        """The table of the running maximum, from the weights of the experiment."""
        rows = [line for line in lines(str(ROOT / "results" / "experiments" / "words.jsonl"))
                if line.get("params", {}).get("layer") == "sentence"]  # fmt: skip
        by = {(r["params"].get("matrix"), r["params"].get("head"), r["params"].get("mask")):
              r["values"].get("elements") for r in rows}  # fmt: skip
        x, v = by["scaled scores", 0, None][1], by["V", 0, None]
        by_hand = self.page.partition("## Matrix units")[0]
        table = re.findall(r"^\| (\w+) \| (-?[\d.]+) \|(.*)\|$", by_hand, re.M)
        self.assertEqual(" ".join(word for word, *_ in table), "the cat sat on the mat")
        m, total, o = -math.inf, 0.0, 0.0
        for score, row, (_, first, rest) in zip(x, v, table, strict=True):
            shrink = math.exp(m - max(m, score))
            m = max(m, score)
            p = math.exp(score - m)
            total, o = total * shrink + p, o * shrink + p * row[0]
            printed = [float(cell.strip() or 0) for cell in [first, *rest.split("|")]]
            for got, expected, off in zip(
                printed, (score, m, shrink, p, total, o), (5e-3, 5e-3, 5e-4, 5e-4, 5e-4, 5e-3),
                strict=True,
            ):  # fmt: skip
                self.assertLessEqual(abs(got - expected), off * 1.001, rest)
        self.assertAlmostEqual(o / total, by["output", 0, "none"][1][0], delta=1e-8)
