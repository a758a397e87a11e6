"""Converts documents to markdown: web pages, PDF, DOCX, ODT, EPUB, feeds and text files.

A document can be crafted to take forever, so a separate process, which runs this file with a limit
on processor time, reads it. The first line of its output is the title.
"""

import codecs
import io
import posixpath
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from html import escape, unescape
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

SUFFIXES = (".pdf", ".docx", ".odt", ".epub")
"""Suffixes of binary documents."""
SECONDS = 5
"""Processor seconds for a downloaded page."""
OWN_SECONDS = 60
"""Processor seconds for one of the owner's files."""
PATIENCE = 4
"""The wall-clock limit as a multiple of processor seconds, for a busy machine."""
LONGEST = 5_000_000
"""The maximum length of a text in characters: a crafted table can expand far beyond the page."""
MEMORY = 2_000_000_000
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w-]{1,40})""", re.IGNORECASE)
HTML = re.compile(rb"<(!doctype html|html|head|body|p|div)\b", re.IGNORECASE)
UNTOLD = ("", "application/octet-stream")
"""Content types that carry no information."""
TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
FEED = re.compile(rb"<(rss|feed|rdf:RDF)\b")
BEGINNING = 2_000
"""Bytes in which a page declares its type."""
AROUND = [
    *("nav", "footer", "aside", "dialog", "[role=navigation]", "[role=contentinfo]"),
    *("[role=complementary]", "[role=banner]", "[role=search]", "[role=dialog]"),
]
"""Selectors of the elements around a page's main text."""
TOLD = ("link", "pubDate", "published", "updated", "date", "creator")
WORDS = ("encoded", "description", "content", "summary")
"""Fields of a feed's entry."""
ODT_TAGS = {
    "p": "p",
    "list": "ul",
    "list-item": "li",
    "table": "table",
    "table-row": "tr",
    "table-cell": "td",
}
"""HTML tags for elements of OpenDocument."""


def format_of(data: bytes) -> str:
    """Return the suffix of a binary document, judged by its content; empty for anything else."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if not data.startswith(b"PK\x03\x04"):
        return ""
    kind = data[30:100]  # the first member of the archive, stored uncompressed
    if kind.startswith(b"mimetypeapplication/epub+zip"):
        return ".epub"
    if kind.startswith(b"mimetypeapplication/vnd.oasis.opendocument.text"):
        return ".odt"
    return ".docx" if b"word/document.xml" in data else ""


def as_markdown(
    data: bytes, kind: str = "", charset: str = "", url: str = "", seconds: int = OWN_SECONDS
) -> tuple[str, str]:
    """Return the title and the text of a document, within `seconds` of processor time.

    `kind`, `charset` and `url` come from the server. Raises ValueError with the reason if it
    cannot be read.
    """
    from assistant.disk import programs

    command = [sys.executable, "-I", __file__, kind, charset, url, str(seconds)]
    try:
        result = subprocess.run(
            command,
            input=data,
            capture_output=True,
            timeout=PATIENCE * seconds,
            env=programs.environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError("it takes too long") from error
    if result.returncode < 0:
        raise ValueError(f"it takes more than {seconds} s of processor time")
    if result.returncode:
        raise ValueError(result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    title, _, text = result.stdout.decode().partition("\n")
    return title, text.strip()


def read(data: bytes, kind: str, charset: str, url: str) -> tuple[str, str]:
    """Return the title and the text. Raises the libraries' errors for unreadable documents."""
    head = data[:BEGINNING]
    if suffix := format_of(data):
        return READERS[suffix](data)
    if "xml" in kind and FEED.search(head):
        return _feed(data, url)
    if "html" in kind or (kind in UNTOLD and HTML.search(head)):
        charset_match = CHARSET.search(head)
        return _html(
            decoded(data, charset or (charset_match[1].decode() if charset_match else "")), url
        )
    text = decoded(data, charset)
    if "\0" in text[:BEGINNING]:
        raise ValueError(f"it is {kind or 'binary'}, not a page or text")
    return "", text


def decoded(data: bytes, charset: str) -> str:
    """Decode as a byte-order mark says, as declared, as UTF-8, or else as Windows-1252, which
    `latin-1` means in practice."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        charset = "utf-16"
    if charset.lower() in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"):
        charset = "cp1252"
    for encoding in (charset or "utf-8-sig", "utf-8-sig"):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("cp1252", "replace")


def _html(text: str, url: str) -> tuple[str, str]:
    """Convert the `<main>` element if there is exactly one and it has text, else the whole page."""
    title = TITLE.search(text)
    start, end = text.find("<main"), text.rfind("</main>")
    main = text[start:end] if 0 <= start < end and text.count("<main") == 1 else ""
    body = _markdown(main, url) or _markdown(text, url)
    return unescape(title[1]) if title else "", body


def _markdown(text: str, url: str) -> str:
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(
        base_url=url,
        exclude_selectors=AROUND,
        skip_images=True,
        extract_metadata=False,
        compact_tables=True,
        bullets="-",
    )
    return (convert(text, options).content or "").strip()


def _pdf(data: bytes) -> tuple[str, str]:
    from pypdf import PdfReader

    document = PdfReader(io.BytesIO(data))
    if document.is_encrypted and not document.decrypt(""):
        raise ValueError("it is protected by a password")
    pages = [page.extract_text().strip() for page in document.pages]
    if not any(pages):
        raise ValueError("it contains no text; it may be a scan")
    text = "\n\n".join(f"## Page {number}\n\n{page}" for number, page in enumerate(pages, 1))
    return (document.metadata and document.metadata.title) or "", text


def _docx(data: bytes) -> tuple[str, str]:
    from mammoth import convert_to_html

    return "", _markdown(convert_to_html(io.BytesIO(data)).value, "")


def _odt(data: bytes) -> tuple[str, str]:
    with ZipFile(io.BytesIO(data)) as archive:
        body = ElementTree.fromstring(archive.read("content.xml")).find(".//{*}body")
    return "", _markdown("" if body is None else _html_of(body), "")


def _html_of(element: ElementTree.Element) -> str:
    """Convert an element of OpenDocument to HTML, without styles."""
    name, level = _tag(element), "1"
    if name in ("tracked-changes", "annotation", "sequence-decls"):
        return ""
    if name == "h":
        level = next((text for key, text in element.items() if key.endswith("level")), level)
    parts = [escape(element.text or "")]
    for child in element:
        parts += [_html_of(child), escape(child.tail or "")]
    inner = "".join(parts)
    if name in ("s", "tab", "line-break"):
        return "<br>" if name == "line-break" else " "
    outer = {"h": f"h{level}", **ODT_TAGS}.get(name)
    return f"<{outer}>{inner}</{outer}>" if outer else inner


def _epub(data: bytes) -> tuple[str, str]:
    """Return the chapters in the order of the book."""
    with ZipFile(io.BytesIO(data)) as book:
        container = ElementTree.fromstring(book.read("META-INF/container.xml"))
        path = container.find(".//{*}rootfile").get("full-path")  # type: ignore[union-attr]
        assert path
        package = ElementTree.fromstring(book.read(path))
        files = {item.get("id"): item.get("href") or "" for item in package.iterfind(".//{*}item")}
        chapters = [files[item.get("idref")] for item in package.iterfind(".//{*}itemref")]
        folder = posixpath.dirname(path)
        pages = [
            book.read(posixpath.normpath(posixpath.join(folder, unquote(item))))
            for item in chapters
        ]
    title = package.findtext(".//{*}title") or ""
    return title, "\n\n".join(_html(decoded(item, ""), "")[1] for item in pages)


def _feed(data: bytes, url: str) -> tuple[str, str]:
    """Return the entries of RSS or Atom, in order."""
    root = ElementTree.fromstring(data)
    entries = [element for element in root.iter() if _tag(element) in ("item", "entry")]
    title = next((element.text or "" for element in root.iter() if _tag(element) == "title"), "")
    return title.strip(), "\n\n".join("\n".join(_entry(element, url)) for element in entries)


def _entry(entry: ElementTree.Element, url: str) -> Iterator[str]:
    fields = {
        _tag(field): (field.text or field.get("href") or "").strip() for field in reversed(entry)
    }
    yield f"## {fields.get('title') or '(no title)'}"
    yield from (fields[field] for field in TOLD if fields.get(field))
    yield _markdown(next((fields[field] for field in WORDS if fields.get(field)), ""), url)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


READERS = {".pdf": _pdf, ".docx": _docx, ".odt": _odt, ".epub": _epub}


if __name__ == "__main__":
    for kind, most in ((resource.RLIMIT_CPU, int(sys.argv[4])), (resource.RLIMIT_DATA, MEMORY)):
        with suppress(ValueError):  # the owner's own limit is lower
            resource.setrlimit(kind, (most, most))
    try:
        title, text = read(sys.stdin.buffer.read(), *sys.argv[1:4])
    except Exception as error:  # any library may raise any error
        sys.exit(str(error) or type(error).__name__)
    cut = "" if len(text) <= LONGEST else f"\n[The rest of {len(text):,} characters is left out.]"
    output = f"{' '.join(title.split())}\n{text[:LONGEST]}{cut}"
    sys.stdout.buffer.write(output.encode("utf-8", "replace"))
