"""Weights to draw, and what a panel shows of them."""

import numpy as np
from matplotlib.axes import Axes

WORDS = ["the", "cat", "costs", "$5"]


def softmax(shape: tuple[int, ...]) -> np.ndarray:
    """Weights from a seed."""
    x = np.exp(np.random.default_rng(1).normal(size=shape))
    return (x / x.sum(axis=-1, keepdims=True)).astype(np.float32)


def shown(ax: Axes) -> np.ma.MaskedArray:
    """The matrix of a panel."""
    (image,) = ax.images
    return image.get_array()


def labels(axis: object) -> list[str]:
    """The labels of an axis."""
    return [text.get_text() for text in axis.get_ticklabels()]
