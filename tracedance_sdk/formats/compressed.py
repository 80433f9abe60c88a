"""Unpack gzip and zstd while reading, within bounds, and tell a file that ends too early."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, TYPE_CHECKING, Any, Final

from tracedance_sdk.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from typing_extensions import Buffer

    class _Readable(Protocol):
        def read(self, size: int, /) -> bytes: ...


GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"

FREE_BYTES: Final = 1024**3
"""How much a file may unpack to, whatever its own size."""

MOST_RATIO: Final = 250
"""How many times its own size a file may unpack to beyond that."""

_SKIPPABLE: Final = b"\x2a\x4d\x18"
_WINDOW_BYTES: Final = 128 * 1024**2
_RUN_BLOCK: Final = 1


class Damaged(Exception):
    """A compressed file that cannot be unpacked, or that unpacks to more than the bounds allow."""


def compression(head: bytes) -> str | None:
    """Return how a file is compressed by its first four bytes: ``gzip``, ``zstd``, or None."""
    if head.startswith(GZIP):
        return "gzip"
    if head.startswith(ZSTD) or _is_skippable(head):
        return "zstd"
    return None


def unpacked(raw: IO[bytes], *, kind: str, size: int) -> io.BufferedReader:
    """Return a stream of what a compressed file holds; it can be rewound to its start.

    Args:
        raw: The open file, at its start.
        kind: As `compression` tells it.
        size: The file's own size in bytes.

    Raises:
        MissingDependency: zstd, and its package is not installed.
    """
    opened = _open_gzip if kind == "gzip" else _zstd_opener()
    return io.BufferedReader(_Unpacking(raw, opened, max(FREE_BYTES, MOST_RATIO * size)))


class _Unpacking(io.RawIOBase):
    """Counts what is unpacked, so that a bomb goes off within bounds."""

    def __init__(self, raw: IO[bytes], opened: Callable[[IO[bytes]], _Readable], most: int) -> None:
        self._raw = raw
        self._opened = opened
        self._most = most
        self._inner = opened(raw)
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_CUR and offset == 0:
            return self._position
        if whence != io.SEEK_SET or offset != 0:
            raise io.UnsupportedOperation("only to the start")
        self._raw.seek(0)
        self._inner = self._opened(self._raw)
        self._position = 0
        return 0

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        try:
            data = self._inner.read(len(view))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Damaged(f"a damaged gzip file: {error}") from error
        view[: len(data)] = data
        self._position += len(data)
        if self._position > self._most:
            raise Damaged(f"a file that unpacks to more than {self._most:,} bytes")
        return len(data)


def _open_gzip(raw: IO[bytes]) -> _Readable:
    return gzip.GzipFile(fileobj=raw)


def _zstd_opener() -> Callable[[IO[bytes]], _Readable]:
    try:
        import zstandard
    except ImportError as error:
        raise MissingDependency.for_extra("zstandard", extra="store") from error
    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)

    class Frames:
        """All frames of a file. The package's reader takes a file cut off as ended."""

        def __init__(self, raw: IO[bytes]) -> None:
            self._raw = raw
            self._reader: Any = unpacker.stream_reader(raw, read_across_frames=True, closefd=False)

        def read(self, size: int, /) -> bytes:
            try:
                data: bytes = self._reader.read(size)
            except zstandard.ZstdError as error:
                raise Damaged(f"a damaged zstd file: {error}") from error
            if not data and not _ends_whole(self._raw):
                raise Damaged("a damaged zstd file: it ends too early")
            return data

    return Frames


def _ends_whole(raw: IO[bytes]) -> bool:
    """Whether a zstd file ends with the end of a frame, told from its block headers alone."""
    from zstandard import ZstdError, frame_header_size, get_frame_parameters

    place = raw.seek(0)
    end = raw.seek(0, io.SEEK_END)
    while place < end:
        raw.seek(place)
        head = raw.read(18)
        if _is_skippable(head):
            place += 8 + int.from_bytes(head[4:8], "little")
            continue
        try:
            place += frame_header_size(head)
            has_checksum = get_frame_parameters(head).has_checksum
        except ZstdError:
            return False
        is_last = False
        while not is_last:
            raw.seek(place)
            block = raw.read(3)
            if len(block) < 3:
                return False
            header = int.from_bytes(block, "little")
            is_last = bool(header & 1)
            place += 3 + (1 if header >> 1 & 3 == _RUN_BLOCK else header >> 3)
        place += 4 if has_checksum else 0
    return place == end


def _is_skippable(head: bytes) -> bool:
    return head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F
