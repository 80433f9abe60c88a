"""The manifest: which files make up a store at one moment.

``manifest-00000012.json`` is ``{"format": "tracedance.store", "version": 1, "number": 12,
"partitions": [...]}``. It is complete in itself and never changed; the highest number is the
present. A row that was replaced or removed stays in its file, and the manifest says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidJSON, StoreError, UnsupportedVersion
from tracedance_sdk.trace import Json, parse_json

FORMAT: Final = "tracedance.store"
VERSION: Final = 1

KINDS: Final = ("traces", "documents", "turns", "calls", "tools")
"""The files that every partition has."""

FEATURES: Final = "features"
"""The file of derived columns, which `index` adds."""

_MANIFEST: Final = re.compile(r"manifest-([0-9]{8,15})\.json")
_FILE: Final = re.compile(
    r"(traces|documents|turns|calls|features-v[0-9]{1,6}|tools)-[0-9a-f]{32}\.(parquet|json)"
)
_DRAFT: Final = re.compile(r"\.draft-[0-9]+-[0-9a-f]+")
_NAMED: Final = re.compile(_FILE.pattern.encode())
_DIGEST: Final = re.compile(r"[0-9a-f]{0,64}")
_MOST_ROWS: Final = 2**31


class StoredFile(NamedTuple):
    """One immutable file: its name, which tells its content, and its length in bytes."""

    name: str
    bytes: int

    @property
    def kind(self) -> str:
        """One of `KINDS`, or `FEATURES`."""
        return self.name.partition("-")[0]


class Partition(NamedTuple):
    """Some traces with all that is derived from them.

    Attributes:
        files: By kind.
        rows: How many traces the files hold, those that no longer count included.
        document_bytes: Length of all documents before they are packed.
        dropped: Rows that were replaced or removed, in ascending order.
        features_version: Of the derived columns; 0 where there are none yet.
        features_tools: Digest of the table of known tools that they were derived with.
    """

    files: dict[str, StoredFile]
    rows: int
    document_bytes: int
    dropped: tuple[int, ...] = ()
    features_version: int = 0
    features_tools: str = ""

    @property
    def name(self) -> str:
        """What tells it from every other partition."""
        return self.files["traces"].name

    @property
    def live(self) -> int:
        """How many traces count."""
        return self.rows - len(self.dropped)

    def without(self, rows: Iterable[int]) -> Partition:
        """Return the partition with more rows dropped."""
        return self._replace(dropped=tuple(sorted({*self.dropped, *rows})))


class Manifest(NamedTuple):
    """A store at one moment; number 0 is the empty store before its first manifest."""

    number: int = 0
    partitions: tuple[Partition, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of all its files."""
        return frozenset(f.name for part in self.partitions for f in part.files.values())

    @property
    def live(self) -> int:
        """How many traces count."""
        return sum(partition.live for partition in self.partitions)


def manifest_name(number: int) -> str:
    """Return the file name of a manifest."""
    return f"manifest-{number:08d}.json"


def manifest_number(name: str) -> int | None:
    """Return a manifest's number by its file name; None when it is no manifest's."""
    found = _MANIFEST.fullmatch(name)
    number = int(found[1]) if found else 0
    return number if number and manifest_name(number) == name else None


def is_data_name(name: str) -> bool:
    """Whether a file name is one of a store's data files."""
    return _FILE.fullmatch(name) is not None


def is_draft_name(name: str) -> bool:
    """Whether a file name is one under which a data file or a manifest is written at first."""
    return _DRAFT.fullmatch(name) is not None


def named_files(data: bytes) -> frozenset[str]:
    """Return the names of data files that stand in a manifest, whole or not."""
    return frozenset(found[0].decode() for found in _NAMED.finditer(data))


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON, one partition a line."""
    head = {"format": FORMAT, "version": VERSION, "number": manifest.number}
    lines = b",\n".join(orjson.dumps(_plain(partition)) for partition in manifest.partitions)
    return orjson.dumps(head)[:-1] + b',"partitions":[\n' + lines + b"\n]}\n"


def _plain(partition: Partition) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "rows": partition.rows,
        "document_bytes": partition.document_bytes,
        "files": {kind: [file.name, file.bytes] for kind, file in partition.files.items()},
    }
    if partition.dropped:
        fields["dropped"] = partition.dropped
    if partition.features_version:
        fields["features_version"] = partition.features_version
        fields["features_tools"] = partition.features_tools
    return fields


def decode_manifest(data: bytes, *, where: str) -> Manifest:
    """Read a manifest; a name in it that is not a data file's is refused.

    Raises:
        InvalidJSON: Not JSON.
        UnsupportedVersion: Of another version.
        StoreError: JSON, but no manifest.
    """
    document = parse_json(data, where=where)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StoreError(f"{where}: not a store's manifest: 'format' is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise UnsupportedVersion(
            f"{where}: format version {version!r}; this release reads version {VERSION}"
        )
    try:
        partitions = tuple(_partition(fields) for fields in document["partitions"])
        return Manifest(_number(document["number"]), _each_once(partitions))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{where}: a damaged manifest: {error!r}") from error


def _each_once(partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
    if len({part.name for part in partitions}) < len(partitions):
        raise ValueError("a partition stands in it twice")
    return partitions


def _partition(fields: dict[str, Any]) -> Partition:
    files = {kind: StoredFile(_name(pair[0]), _number(pair[1]))
             for kind, pair in fields["files"].items()}  # fmt: skip
    version = _number(fields.get("features_version", 0))
    needed = {*KINDS, FEATURES} if version else set(KINDS)
    if files.keys() != needed or any(file.kind != kind for kind, file in files.items()):
        raise ValueError(f"files of a partition: {sorted(files)}")
    rows = _number(fields["rows"])
    dropped = tuple(sorted({_number(row) for row in fields.get("dropped", ())}))
    if rows > _MOST_ROWS or (dropped and dropped[-1] >= rows):
        raise ValueError(f"rows {rows}")
    return Partition(
        files,
        rows,
        _number(fields["document_bytes"]),
        dropped,
        version,
        _digest(fields.get("features_tools", "")),
    )


def _name(value: object) -> str:
    if not isinstance(value, str) or not is_data_name(value):
        raise ValueError(f"{value!r:.80} is no data file's name")
    return value


def _digest(value: object) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise ValueError(f"{value!r:.80} is no digest")
    return value


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.80} is no count")
    return value


UNREADABLE: Final = (InvalidJSON, StoreError)
"""What a manifest that is not whole raises."""
