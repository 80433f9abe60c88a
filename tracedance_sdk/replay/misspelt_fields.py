"""Fields of a document that are probably misspelt.

A test file keeps fields that it does not know, so a misspelt one would go unnoticed and the agent
would take the blame for what is missing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Final, get_args

from pydantic import BaseModel

from tracedance_sdk.errors import Problem, shown
from tracedance_sdk.trace import Json, path_text

_NEAR: Final = 0.8
"""How alike two names are, from 0 to 1, when one is taken for the other."""

Place = tuple[int | str, ...]


def misspelt_fields(document: Json, model: type[BaseModel], *, at: Place = ()) -> Iterator[Problem]:
    """Yield a problem for each unknown field that looks like a known one that is not given.

    Args:
        document: As it was read, before a model took it.
        model: Whose fields are known, and those of the models in it.
        at: Where the document stands in its file.

    Example:
        >>> from tracedance_sdk.replay.rebuilt_test import RebuiltTest
        >>> for problem in misspelt_fields({"people": [{"gaol": "Hi", "tag": 1}]}, RebuiltTest):
        ...     print(problem)
        unknown field 'gaol'; did you mean 'goal'? @ $.people[0].gaol
    """
    if isinstance(document, list):
        for number, item in enumerate(document):
            yield from misspelt_fields(item, model, at=(*at, number))
    if not isinstance(document, dict):
        return
    known = model.model_fields
    free = [name for name in known if name not in document]
    for name, value in document.items():
        if name in known:
            for inner in _models_in(known[name].annotation):
                yield from misspelt_fields(value, inner, at=(*at, name))
        elif (near := _near(str(name), free)) is not None:
            told = f"unknown field {shown(name)}; did you mean {near!r}?"
            yield Problem(told, path_text((*at, str(name))))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _near(name: str, known: list[str]) -> str | None:
    """Return the known name that is almost this one; letters that changed places count as one."""
    folded = name.casefold()
    swapped = (other for other in known if sorted(other) == sorted(folded))
    found = difflib.get_close_matches(folded, known, n=1, cutoff=_NEAR)
    return next(swapped, None) or (found[0] if found else None)
