"""A page, a PDF, a feed or a text as markdown: `python -I reader.py KIND CHARSET URL < bytes`.

A page can be made to take for ever, so it is read in a process of its own, which ends after
`SECONDS` of processor time. The first line it prints is the title.
"""

import io
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from xml.etree import ElementTree

SECONDS = 5
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


def read(data: bytes, kind: str, charset: str, url: str) -> tuple[str, str]:
    """The title and the words. Raises what the libraries do for what cannot be read."""
    beginning = data[:BEGINNING]
    if data.startswith(b"%PDF-"):
        return _pdf(data)
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
    for each in (charset or "utf-8-sig", "utf-8-sig"):
        try:
            return data.decode(each)
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
    pages = (f"[page {n}]\n{each.extract_text()}" for n, each in enumerate(document.pages, 1))
    return (document.metadata and document.metadata.title) or "", "\n\n".join(pages)


def _feed(data: bytes, url: str) -> tuple[str, str]:
    """The entries of RSS or Atom, in their order."""
    root = ElementTree.fromstring(data)
    entries = [each for each in root.iter() if _tag(each) in ("item", "entry")]
    title = next((each.text or "" for each in root.iter() if _tag(each) == "title"), "")
    return title.strip(), "\n\n".join("\n".join(_entry(each, url)) for each in entries)


def _entry(entry: ElementTree.Element, url: str) -> Iterator[str]:
    said = {_tag(each): (each.text or each.get("href") or "").strip() for each in reversed(entry)}
    yield f"## {said.get('title') or '(no title)'}"
    yield from (said[each] for each in TOLD if said.get(each))
    yield _markdown(next((said[each] for each in WORDS if said.get(each)), ""), url)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


if __name__ == "__main__":
    for kind, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_DATA, MEMORY)):
        with suppress(ValueError):  # the owner's own limit is lower
            resource.setrlimit(kind, (most, most))
    try:
        title, text = read(sys.stdin.buffer.read(), *sys.argv[1:4])
    except Exception as error:  # of anybody's libraries, about anybody's file
        sys.exit(str(error) or type(error).__name__)
    cut = "" if len(text) <= LONGEST else f"\n[The rest of {len(text):,} characters is left out.]"
    told = f"{' '.join(title.split())}\n{text[:LONGEST]}{cut}"
    sys.stdout.buffer.write(told.encode("utf-8", "replace"))
