"""Documents as markdown: pages of the web, PDF, DOCX, ODT, EPUB, feeds and text files.

A document can be made to take for ever, so it is read in a process of its own, which runs this file
and ends after some seconds of processor time. The first line it prints is the title.
"""

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
"""What files of documents that are no text end with."""
SECONDS = 5
"""Of processor time for a page that somebody else made."""
OWN_SECONDS = 60
"""Of processor time for a file of the owner's."""
PATIENCE = 4
"""How many times as long it may take by the clock, on a machine with much else to do."""
LONGEST = 5_000_000
"""Characters: a table can be made to need far more than the page has."""
MEMORY = 2_000_000_000
CHARSET = re.compile(rb"""<meta[^>]{0,200}charset=["']?([\w-]{1,40})""", re.IGNORECASE)
HTML = re.compile(rb"<(!doctype html|html|head|body|p|div)\b", re.IGNORECASE)
UNTOLD = ("", "application/octet-stream")
"""Kinds that say nothing."""
TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
FEED = re.compile(rb"<(rss|feed|rdf:RDF)\b")
BEGINNING = 2_000
"""Bytes in which a page says what it is."""
AROUND = [
    *("nav", "footer", "aside", "dialog", "[role=navigation]", "[role=contentinfo]"),
    *("[role=complementary]", "[role=banner]", "[role=search]", "[role=dialog]"),
]
"""What stands around the words of a page."""
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
"""What elements of OpenDocument are in HTML."""


def format_of(data: bytes) -> str:
    """The suffix of a document that is no text, told by its content; empty for all else."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if not data.startswith(b"PK\x03\x04"):
        return ""
    kind = data[30:100]  # the first member of the archive, stored as it is
    if kind.startswith(b"mimetypeapplication/epub+zip"):
        return ".epub"
    if kind.startswith(b"mimetypeapplication/vnd.oasis.opendocument.text"):
        return ".odt"
    return ".docx" if b"word/document.xml" in data else ""


def as_markdown(
    data: bytes, kind: str = "", charset: str = "", url: str = "", seconds: int = OWN_SECONDS
) -> tuple[str, str]:
    """The title and the text of a document, in at most so many seconds of processor time.

    `kind`, `charset` and `url` are what a server said of it. Raises ValueError that says why it
    cannot be read.
    """
    from assistant.disk import programs

    command = [sys.executable, "-I", __file__, kind, charset, url, str(seconds)]
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            timeout=PATIENCE * seconds,
            env=programs.environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError("it takes too long") from error
    if done.returncode < 0:
        raise ValueError(f"it takes over {seconds} s of the processor")
    if done.returncode:
        raise ValueError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
    title, _, text = done.stdout.decode().partition("\n")
    return title, text.strip()


def read(data: bytes, kind: str, charset: str, url: str) -> tuple[str, str]:
    """The title and the words. Raises what the libraries do for what cannot be read."""
    beginning = data[:BEGINNING]
    if suffix := format_of(data):
        return READERS[suffix](data)
    if "xml" in kind and FEED.search(beginning):
        return _feed(data, url)
    if "html" in kind or (kind in UNTOLD and HTML.search(beginning)):
        said = CHARSET.search(beginning)
        return _html(decoded(data, charset or (said[1].decode() if said else "")), url)
    text = decoded(data, charset)
    if "\0" in text[:BEGINNING]:
        raise ValueError(f"it is {kind or 'binary'}, and not a page or text")
    return "", text


def decoded(data: bytes, charset: str) -> str:
    """The text: as it says, as UTF-8, or else as Windows writes it, which is what `latin-1` is."""
    if charset.lower() in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"):
        charset = "cp1252"
    for encoding in (charset or "utf-8-sig", "utf-8-sig"):
        try:
            return data.decode(encoding)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("cp1252", "replace")


def _html(text: str, url: str) -> tuple[str, str]:
    """Of its one `<main>`, if there is one with words in it, else of the whole page."""
    title = TITLE.search(text)
    start, end = text.find("<main"), text.rfind("</main>")
    main = text[start:end] if 0 <= start < end and text.count("<main") == 1 else ""
    words = _markdown(main, url) or _markdown(text, url)
    return unescape(title[1]) if title else "", words


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
        raise ValueError("it is locked by a password")
    pages = [page.extract_text().strip() for page in document.pages]
    if not any(pages):
        raise ValueError("it holds no text; it may be a scan")
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
    """An element of OpenDocument as HTML, without its looks."""
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
    """The chapters in the order of the book."""
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
    """The entries of RSS or Atom, in their order."""
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
    except Exception as error:  # of anybody's libraries, about anybody's file
        sys.exit(str(error) or type(error).__name__)
    cut = "" if len(text) <= LONGEST else f"\n[The rest of {len(text):,} characters is left out.]"
    told = f"{' '.join(title.split())}\n{text[:LONGEST]}{cut}"
    sys.stdout.buffer.write(told.encode("utf-8", "replace"))
