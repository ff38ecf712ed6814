"""Archives: bombs, entities, passwords."""

import zipfile

import pytest

from one2set.data.reading.document_formats.archives import Archive, parse_xml
from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError
from tests.data.document_samples import zipped

LAUGHS = b"""<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>"""


def test_what_is_unpacked_is_counted_over_all_files() -> None:
    data = zipped(dict.fromkeys("abc", bytes(1000)))
    assert len(data) < 500
    with pytest.raises(DataError, match="has 3,000 bytes when unpacked; at most 2,500"):
        Archive(data, Limits(expanded=2500))
    with Archive(data, Limits(expanded=3000)) as archive:
        assert archive.read("a") == archive.read("b") == archive.read("c") == bytes(1000)
        with pytest.raises(DataError, match="has 3,001 bytes"):
            archive.read("a")


def test_a_size_that_lies_does_not_matter() -> None:
    data = bytearray(zipped({"a": b"\0" * 100_000}))
    at = data.rindex(b"PK\1\2") + 24  # the size in the directory
    data[at : at + 4] = (10).to_bytes(4, "little")
    with Archive(bytes(data), Limits(expanded=1000)) as archive, pytest.raises(DataError):
        archive.read("a")


def test_a_file_that_is_not_there_is_empty() -> None:
    with Archive(zipped({}), Limits()) as archive:
        assert archive.read("a") == b""
        assert list(archive.xml("a").iter("x")) == []


def test_a_password_is_reported() -> None:
    data = bytearray(zipped({"a": b"text"}, zipfile.ZIP_STORED))
    data[data.rindex(b"PK\1\2") + 8] |= 1
    with Archive(bytes(data), Limits()) as archive, pytest.raises(DataError, match="is encrypted"):
        archive.read("a")


def test_entities_are_refused() -> None:
    with pytest.raises(DataError, match="declares XML entities"):
        parse_xml(LAUGHS)
    assert parse_xml(b"<x>a</x>").text == "a"
