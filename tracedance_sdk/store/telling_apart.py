"""Tell apart what shares an id: a run that grew, a run read from another place, another run.

The store takes the longer of two traces of one id for the later one. Before that, a trace is held
against the one that is there: another run under the same id becomes a trace of its own, and the
same run read from another file changes nothing.
"""

from __future__ import annotations

from tracedance_sdk.errors import InvalidTrace, TraceDanceError
from tracedance_sdk.store.continuation import difference, other_run_id, shows_more
from tracedance_sdk.store.facts import StoredDocument, document_digest
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.key_index import KeyIndex
from tracedance_sdk.store.moving import decoded
from tracedance_sdk.store.partitions import each_document
from tracedance_sdk.store.protection import PLAIN
from tracedance_sdk.trace import Trace, encode_json

_MOST_RUNS = 100
"""How many runs of one id are told apart; further ones are taken for versions."""


class TellingApart:
    """Looks at traces before they are added, in the order in which they come.

    Args:
        folder: The store's.
        index: Of the rows that are committed.
    """

    def __init__(self, folder: LocalFolder, index: KeyIndex) -> None:
        self._folder = folder
        self._index = index
        self._written: dict[str, StoredDocument] = {}
        self._coming: dict[str, StoredDocument] = {}
        self.count = 0
        """How many traces were given an id of their own."""

    def next_batch(self) -> None:
        """Forget the traces of the batch before the one that is being filled."""
        self._written, self._coming = self._coming, {}

    def take(self, item: StoredDocument, digest: str) -> StoredDocument:
        """Return the trace as it is to be added.

        Args:
            item: The trace.
            digest: SHA-256 of its document.

        Returns:
            The same; as a plain one, where it shows what was taken out of the one that is there;
            under an id of its own, where another run has its id; or what is there already, where
            that differs only in where it was read.
        """
        for _ in range(_MOST_RUNS):
            earlier = self._earlier(item.trace.id, digest)
            if earlier is None or earlier.data == item.data:
                break
            if earlier.protection != item.protection:
                break
            if _without_place(earlier.trace) == _without_place(item.trace):
                item = earlier
                break
            at = difference(earlier.trace, item.trace)
            if at is None and item.protection != PLAIN and shows_more(item.trace, earlier.trace):
                # As when people are replaced with a shorter list of names than before.
                return item._replace(protection=PLAIN)
            if at is None and item.protection != PLAIN:
                item = item._replace(supersedes=shows_more(earlier.trace, item.trace))
            if at is None:
                break
            item = _renamed(item, other_run_id(item.trace, at))
            digest = document_digest(item.data)
            self.count += 1
        self._coming[item.trace.id] = item
        return item

    def _earlier(self, trace_id: str, digest: str) -> StoredDocument | None:
        found = self._coming.get(trace_id) or self._written.get(trace_id)
        if found is not None:
            return found
        known = self._index.find(trace_id)
        if known is None or known.digest == digest:
            return None
        try:
            partition = self._index.partition(known.spot.partition)
            (row,) = each_document(self._folder, partition, [known.spot.row])
            return StoredDocument(decoded(row[2], "a stored trace"), row[2], known.protection)
        except (TraceDanceError, KeyError):
            # What cannot be read, or was removed meanwhile, is nothing to compare with.
            return None


def _without_place(trace: Trace) -> Trace:
    if trace.source is None or trace.source.uri is None:
        return trace
    source = trace.source.model_copy(update={"uri": None})
    return trace.model_copy(update={"source": source})


def _renamed(item: StoredDocument, trace_id: str) -> StoredDocument:
    trace = item.trace.model_copy(update={"id": trace_id})
    try:
        return item._replace(trace=trace, data=encode_json(trace))
    except InvalidTrace:
        return item
