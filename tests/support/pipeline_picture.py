"""docs/images/pipeline.svg: a run, from files to a commit, with the stages as the pipeline has them."""

from typing import Final

from muster.rules.pipeline import STAGES
from muster.rules.stages import Wide

_COLUMNS: Final = 6
_WIDTH, _HEIGHT, _GAP = 132, 30, 8
_TOP: Final = 150
_LETTER: Final = 6  # the width of a letter, about
_STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328;text-anchor:middle}"
    ".local{fill:#ddf4ff;stroke:#54aeff}.wide{fill:#fff8c5;stroke:#d4a72c}.io{fill:#f6f8fa;stroke:#8c959f}"
    ".arrow{stroke:#57606a;stroke-width:1.5;fill:none;marker-end:url(#head)}.small{font-size:11px;fill:#57606a}"
    ".long{font-size:11px}"
)
_HEAD: Final = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#57606a"/></marker></defs>'
)


def pipeline_picture() -> str:
    """Return the picture, as SVG."""
    across = _COLUMNS * (_WIDTH + _GAP) + _GAP
    rows = -(-len(STAGES) // _COLUMNS)
    under = _TOP + rows * (_HEIGHT + _GAP) + 40
    steps = ("files of people and agents", "one snapshot, one instant", "objects, checked")
    step = across / len(steps)
    shapes = []
    for number, name in enumerate(steps):
        shapes += _box("io", number * step + _GAP, 20, step - 3 * _GAP, name)
    shapes += [_arrow(number * step - 2 * _GAP, 40, number * step + _GAP - 2, 40) for number in (1, 2)]
    shapes.append(_arrow(across - step / 2, 60, across - step / 2, _TOP - 34))
    shapes.append(_text(across / 2, _TOP - 18, "stages, in this order: what one decides the next ones read"))
    for number, stage in enumerate(STAGES):
        row, column = divmod(number, _COLUMNS)
        kind = "wide" if isinstance(stage, Wide) else "local"
        shapes += _box(kind, _GAP + column * (_WIDTH + _GAP), _TOP + row * (_HEIGHT + _GAP), _WIDTH, stage.name)
    shapes += [
        _text(across / 2, under - 16, "blue: of each cluster by itself", "small"),
        _text(across * 4 / 5, under - 16, "yellow: of what clusters share", "small"),
    ]
    shapes.append(_arrow(across / 6, under - 34, across / 6, under - 2))
    ends = ("decisions: why, and until when", "files that differ, below derived/", "one commit, or none")
    step = across / len(ends)
    for number, name in enumerate(ends):
        shapes += _box("io", number * step + _GAP, under, step - 3 * _GAP, name)
    shapes += [_arrow(number * step - 2 * _GAP, under + 20, number * step + _GAP - 2, under + 20) for number in (1, 2)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {under + 60}" role="img">',
            "<title>A run of muster, from files to a commit</title>",
            f"<style>{_STYLE}</style>",
            _HEAD,
            f'<rect width="{across}" height="{under + 60}" fill="#ffffff"/>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def _box(kind: str, x: float, y: float, width: float, name: str) -> list[str]:
    height = 40 if kind == "io" else _HEIGHT
    return [
        f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height}" rx="5"/>',
        _text(x + width / 2, y + height / 2 + 5, name, "long" if len(name) * _LETTER > width else ""),
    ]


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}"{f""" class="{kind}" """.rstrip() if kind else ""}>{words}</text>'


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="arrow" d="M{x:.0f} {y:.0f} {to_x:.0f} {to_y:.0f}"/>'
