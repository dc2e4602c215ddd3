"""The figure of each experiment."""

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from attntools import experiment_costs as costs
from attntools import experiment_layouts as layouts
from attntools import experiment_linear as linear
from attntools import experiment_logits as logits
from attntools import experiment_numerics as numerics
from attntools.cells import Results

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
    "exp-degree": numerics.exp_degree,
    "memory": costs.memory,
    "scaling": costs.scaling,
    "invariance": numerics.invariance,
    "tiles": costs.tiles,
    "layouts": layouts.layouts,
}


def every(results: Results) -> Iterator[tuple[str, Figure | None]]:
    """Name and figure of each experiment that has one."""
    for name, draw in FIGURES.items():
        yield f"experiment-{name}", draw(results)
