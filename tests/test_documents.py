"""PDF, DOCX, ODT and EPUB as markdown."""

import pytest

from assistant import documents
from tests.support.documents import docx, epub, odt, pdf

RENT = "The rent is 900 euro"
READ = {
    ".pdf": (pdf(RENT), "", f"## Page 1\n\n{RENT}"),
    ".docx": (docx(RENT), "", f"# House\n\n{RENT}"),
    ".odt": (odt(RENT), "", f"# House\n\n{RENT}\n\n- warm\n\n| May | 900 |\n| --- | --- |"),
    ".epub": (epub(RENT), "The house", f"# One\n\n{RENT}\n\n# Two\n\nThe end."),
}


@pytest.mark.parametrize("suffix", documents.SUFFIXES)
def test_a_document_is_read_as_markdown(suffix: str) -> None:
    data, title, text = READ[suffix]
    assert documents.format_of(data) == suffix
    assert documents.as_markdown(data) == (title, text)


@pytest.mark.parametrize("suffix", documents.SUFFIXES)
def test_half_a_document_is_no_text(suffix: str) -> None:
    data = READ[suffix][0]
    with pytest.raises(ValueError, match=r"\w") as caught:
        documents.as_markdown(data[: len(data) // 2] if suffix != ".pdf" else data[:20])
    assert "\n" not in str(caught.value)


def test_pages_without_text_are_said_to_be_a_scan() -> None:
    with pytest.raises(ValueError, match="it may be a scan"):
        documents.as_markdown(pdf(""))


@pytest.mark.parametrize("data", [b"", b"# Note\n", b"PK\x03\x04 photos", b"\x89PNG"])
def test_what_is_no_document(data: bytes) -> None:
    assert documents.format_of(data) == ""
