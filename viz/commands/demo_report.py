"""What the demonstration found: figures with what they have to be, and files, as text or for JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viz.plain import plain

_WIDTH = 52


@dataclass(frozen=True)
class Figure:
    """A number, and what it has to be: `least` and `most` are both allowed."""

    what: str
    value: float
    least: float
    most: float

    @property
    def ok(self) -> bool:
        """Whether it is what it has to be; nan never is."""
        return self.least <= self.value <= self.most

    @property
    def text(self) -> str:
        """What it is, with the limit where it is a distance."""
        return self.what if self.least == self.most else f"{self.what} (at most {self.most:g})"


@dataclass
class Report:
    """What was found about one graph, and the files that show it, each with what it is."""

    title: str
    figures: list[Figure] = field(default_factory=list)
    files: list[tuple[Path, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every figure is what it has to be."""
        return all(figure.ok for figure in self.figures)

    def exactly(self, what: str, value: float, expected: float) -> None:
        """Add a figure that has one right value."""
        self.figures.append(Figure(what, float(value), expected, expected))

    def at_most(self, what: str, value: float, most: float) -> None:
        """Add a distance, which may be up to `most`."""
        self.figures.append(Figure(what, float(value), 0, most))


def as_text(reports: list[Report]) -> str:
    """The figures, a line each, those marked that are wrong, and the files to open."""
    lines = []
    for report in reports:
        lines += [report.title, *map(_line, report.figures), *(f"  {note}" for note in report.notes), ""]
    files_written = [file for report in reports for file in report.files]
    width = max(len(str(path)) for path, _ in files_written)
    return "\n".join([*lines, "Open", *(f"  {path!s:<{width}}  {what}" for path, what in files_written)])


def _line(figure: Figure) -> str:
    return f"  {figure.text:<{_WIDTH}} {figure.value:.4g}{'' if figure.ok else '   WRONG'}"


def as_json(reports: list[Report]) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "ok": all(report.ok for report in reports),
        "graphs": [
            {
                "title": report.title,
                "figures": [plain(vars(figure) | {"ok": figure.ok}) for figure in report.figures],
                "notes": report.notes,
            }
            for report in reports
        ],
        "files": [{"path": str(path), "what": what} for report in reports for path, what in report.files],
    }
