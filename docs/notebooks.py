"""Runs the notebooks of docs/gallery, and writes a page of the site for each of them: `make docs`.

Notebooks have no outputs in the repository: nothing in them can be stale. A page has what its cells print and
draw.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.formatting import Printed

FOLDER = Path(__file__).with_name("gallery")


@dataclass(frozen=True)
class Cell:
    """Text or code."""

    kind: str
    source: str


@dataclass(frozen=True)
class Output:
    """What a cell printed, and what its last line is."""

    printed: str
    shown: object = None


def read_cells(path: Path) -> list[Cell]:
    """The cells of a notebook of format 4."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    if notebook["nbformat"] != 4:
        raise ValueError(f"{path.name} has format {notebook['nbformat']}; format 4 is read")
    return [Cell(one["cell_type"], "".join(one["source"])) for one in notebook["cells"]]


def run_cells(path: Path) -> Iterator[tuple[Cell, Output | None]]:
    """Run a notebook from its first cell to its last, in names of its own."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(read_cells(path), 1):
        yield (
            cell,
            run_code(cell.source, names, f"{path.name}, cell {number}") if cell.kind == "code" else None,
        )


def run_code(source: str, names: dict[str, Any], where: str) -> Output:
    """Run the lines of a cell; the value of its last line is shown, as in a notebook."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, where, "exec"), names)
        shown = None
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), where, "eval"), names)
    return Output(printed.getvalue(), shown)


def write_page(path: Path) -> Path:
    """Write the page of a notebook next to it, and its pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    parts: list[str] = []
    for cell, output in run_cells(path):
        parts.append(cell.source if output is None else f"```python\n{cell.source}\n```")
        if output is None:
            continue
        if output.printed:
            parts.append(f"```\n{output.printed.rstrip()}\n```")
        if output.shown is not None:
            parts.append(show(output.shown, path.with_name(f"{path.stem}-{len(parts)}.png")))
    page = path.with_suffix(".md")
    page.write_text("\n\n".join(parts) + f"\n\n[This page as a notebook]({path.name})\n", encoding="utf-8")
    return page


def show(value: Any, picture: Path) -> str:
    """A figure, a table, or a text."""
    if hasattr(value, "savefig"):
        value.savefig(picture, dpi=120)
        parts = [one.get_title(loc="left") or one.get_ylabel() for one in value.axes]
        words = " ".join("; ".join(filter(None, [value.get_suptitle(), *parts])).split())
        return f"![{html.escape(words) or 'A figure'}]({picture.name})"
    if isinstance(value, Printed):
        return f"```\n{value}\n```"
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_()).replace("\n\n", "\n")
    return f"```\n{value!r}\n```"


if __name__ == "__main__":
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        print("wrote", write_page(notebook).relative_to(FOLDER.parent))
