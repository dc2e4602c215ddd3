"""The figure of each experiment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attntools.experiments import experiment_costs as costs
from attntools.experiments import experiment_distributed as distributed
from attntools.experiments import experiment_layouts as layouts
from attntools.experiments import experiment_linear as linear
from attntools.experiments import experiment_logits as logits
from attntools.experiments import experiment_numerics as numerics
from attntools.experiments import experiment_scaling as scaling
from attntools.experiments import experiment_tiles as tiles
from attntools.experiments import experiment_words as words
from attntools.results.cells import Results, ResultsError
from matplotlib.figure import Figure

FIGURES: dict[str, Callable[[Results], Figure | None]] = {
    "variance": logits.variance,
    "softmax": logits.softmax,
    "saturation": logits.saturation,
    "worked-examples": numerics.worked_examples,
    "layer": costs.layer,
    "linear": linear.linear,
    "error-growth": numerics.error_growth,
    "overflow": numerics.overflow,
    "rescale": costs.rescale,
    "key-order": costs.key_order,
    "exp-degree": numerics.exp_degree,
    "memory": costs.memory,
    "scaling": scaling.scaling,
    "distributed": distributed.distributed,
    "invariance": numerics.invariance,
    "cache": numerics.cache,
    "tiles": tiles.tiles,
    "layouts": layouts.layouts,
    "words": words.words,
}

# What the rows say, in sentences.
FINDINGS: dict[str, Callable[[Results], Iterator[str]]] = {
    "key-order": costs.key_order_findings,
    "memory": costs.memory_findings,
    "scaling": scaling.findings,
    "distributed": distributed.findings,
    "tiles": tiles.findings,
    "layouts": layouts.findings,
}


@contextmanager
def rows_of(results: Results, name: str) -> Iterator[None]:
    """Whatever a figure misses in the rows of an experiment is said in one message."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError) as wrong:
        raise ResultsError(
            f"{results.path}: rows of the experiment {name} lack what its figure shows "
            f"({type(wrong).__name__}: {wrong})"
        ) from wrong


def draw(results: Results, name: str) -> Figure | None:
    """The figure of an experiment; None where it has none, or the file no rows for it."""
    function = FIGURES.get(name)
    if not function:
        return None
    with rows_of(results, name):
        return function(results)


def findings(results: Results, name: str) -> list[str]:
    """What the rows of an experiment say; nothing where no law is fitted to them."""
    with rows_of(results, name):
        return list(FINDINGS[name](results)) if name in FINDINGS else []


def drawn(results: Results, name: str) -> Iterator[tuple[str, Figure | None]]:
    """Name and figure of each figure of an experiment: one; of words also one for each layer."""
    yield name, draw(results, name)
    if name == "words":
        with rows_of(results, name):
            layers = list(words.figures(results))
        yield from layers


def every(results: Results) -> Iterator[tuple[str, Figure | None]]:
    """Name and figure of all figures of all experiments that have one."""
    for experiment in FIGURES:
        for name, fig in drawn(results, experiment):
            yield f"experiment-{name}", fig
