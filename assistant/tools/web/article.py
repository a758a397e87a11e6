"""What a page says, as markdown, without what stands around it."""

from assistant.quoting import visible
from assistant.tools.web.pages import Page


def title_and_markdown(page: Page) -> tuple[str, str]:
    """A page's title and its article; of what is no markup, the text as it is."""
    if not page.is_html:
        return "", visible(page.text).strip()
    from lxml import etree, html
    from trafilatura import extract, html2txt, load_html  # 0.2 s: where a page was fetched

    tree = load_html(page.text if page.charset else page.data)
    try:  # it takes no page without its outermost tags
        tree = html.document_fromstring(page.text) if tree is None else tree
    except (etree.ParserError, ValueError):
        return "", visible(page.text).strip()
    title = " ".join((tree.findtext(".//title") or "").split())
    text = extract(tree, url=page.url, output_format="markdown", include_links=True) or ""
    return visible(title), visible(text or html2txt(tree)).strip()
