"""A plan as the matrix of a GitHub Actions job, for hand-written workflows."""

from __future__ import annotations

from polywheel_builder.plan import Plan
from polywheel_variants.errors import BadInputError

MAX_JOBS = 256
"""GitHub's limit of jobs a matrix may generate in one workflow run (GitHub Actions, "Usage limits")."""


def github_matrix(plan: Plan) -> dict[str, list[dict[str, str]]]:
    """Return `{"include": [...]}`, one entry a cell.

    Each entry's `id` is what `polywheel build --select` takes. Raises BadInputError above GitHub's limit.
    """
    if len(plan.cells) > MAX_JOBS:
        raise BadInputError(
            f"{len(plan.cells)} cells; a GitHub matrix holds {MAX_JOBS} jobs: narrow it with --select"
        )
    return {
        "include": [
            {
                "id": cell.id,
                "label": cell.name.label or "",
                "platform": cell.platform,
                "python": cell.name.python,
                "filename": cell.name.filename,
            }
            for cell in plan.cells
        ]
    }
