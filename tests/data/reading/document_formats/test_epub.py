"""EPUB: order, and copy protection."""

import pytest

from one2set.data.reading.document_formats.epub import read_epub
from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError
from tests.data.document_samples import TITLE, epub, zipped

LOCKED = (
    '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:CipherData>'
    '<e:CipherReference URI="{}"/></e:CipherData></e:EncryptedData></encryption>'
)


def test_an_encrypted_chapter_is_an_error_and_an_encrypted_font_is_not() -> None:
    with pytest.raises(DataError, match=r"is encrypted \(DRM\)"):
        read_epub(epub(**{"META-INF/encryption.xml": LOCKED.format("OEBPS/one.xhtml")}), Limits())
    font = epub(**{"META-INF/encryption.xml": LOCKED.format("OEBPS/font.otf")})
    assert read_epub(font, Limits()).title == TITLE


def test_a_book_without_its_parts_is_empty() -> None:
    assert read_epub(zipped({"META-INF/container.xml": "<a/>"}), Limits()).blocks == []


def test_the_table_of_contents_is_not_read() -> None:
    texts = [block.text for block in read_epub(epub(), Limits()).blocks]
    assert TITLE in texts
    assert "jump to a chapter" not in texts
