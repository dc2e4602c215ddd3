"""The cluster that all tests of fleets share."""

from collections.abc import Iterator

import pytest
from cluster import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two virtual nodes of one partition."""
    with Cluster(tmp_path_factory.mktemp("slurm"), {"cpu": ["node1", "node2"]}, 2) as started:
        yield started
