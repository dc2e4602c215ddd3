"""The page of a fleet: machine types side by side, kernels on them, and hosts that are off."""

import re

from attntools.fleet import fleet_figures
from attntools.fleet.fleet_tables import (
    HOST_HEAD,
    HOST_NUMERIC,
    LEGEND,
    SPREAD_HEAD,
    SPREAD_NUMERIC,
    TYPES_HEAD,
    TYPES_NUMERIC,
    Fleet,
    Rows,
    case_rows,
    host_rows,
    kernel_rows,
    sentences,
    side_by_side_head,
    spread_rows,
    type_rows,
    wrong_sentence,
)
from attntools.report.page import image, render, without_folders
from attntools.report.page_session import Picture, commands

NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")  # the first of a text is what it is sorted by

ALT = {
    "shares": "Dot plot: percent of the ceiling of the fastest kernel, by case and machine type.",
    "hosts": "Strip plots: percent by which each host is off its type, quantity by quantity.",
}


def _table(
    name: str, hint: str, head: tuple[str, ...], numeric: tuple[bool, ...], rows: Rows
) -> dict:
    """What the template needs of a table."""
    columns = list(zip(head, numeric, strict=True))
    cells = [
        [(text, n, (NUMBER.findall(text) or [""])[0]) for text, n in zip(row, numeric, strict=True)]
        for row in rows
    ]
    return {"name": name, "hint": hint, "columns": columns, "rows": cells}


def page(fleet: Fleet) -> str:
    """The whole page."""
    several = (False, *(True for _ in fleet.types))
    drawn = {name: getattr(fleet_figures, name)(fleet) for name in ALT}
    pictures = {n: Picture(n, ALT[n], image(fig)) for n, fig in drawn.items() if fig}
    return render(
        "fleet.html",
        title="A fleet: attnbench",
        sentences=sentences(fleet),
        wrong=wrong_sentence(fleet),
        pictures=pictures,
        types=_table("Machine types", "", TYPES_HEAD, TYPES_NUMERIC, type_rows(fleet)),
        kernels=_table("Kernels", LEGEND, side_by_side_head(fleet, "kernel"), several,
                       kernel_rows(fleet)),
        cases=_table("The fastest kernel of each case", "", side_by_side_head(fleet, "case"),
                     several, case_rows(fleet)),
        spreads=_table("How much hosts of a type differ", "spread: of the hosts' medians, robust; "
                       "off from: how far a host must be off to be called so.", SPREAD_HEAD,
                       SPREAD_NUMERIC, spread_rows(fleet)),
        hosts=_table("Every host", "", HOST_HEAD, HOST_NUMERIC, host_rows(fleet, every=True)),
        commands=commands(host.latest for t in fleet.types for host in t.hosts),
        notes=[without_folders(note) for note in fleet.notes],
    )  # fmt: skip
