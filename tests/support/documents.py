"""Documents as word processors and e-readers have them, of a few words each."""

import io
from zipfile import ZipFile

OFFICE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"


def pdf(text: str) -> bytes:
    """A document of one page that says this."""
    drawn = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % each for each in places)
    head = b"xref\n0 6\n0000000000 65535 f \n" + table
    return data + head + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)


def docx(text: str) -> bytes:
    """A document of Word with a heading, "House", and these words below it."""
    return _archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default '
            'Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
            f'+xml"/><Override PartName="/word/document.xml" ContentType="{OFFICE}.document.main'
            '+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{RELATION}" Target="word/document.xml"/></Relationships>',
            "word/styles.xml": f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" '
            'w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>',
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:pPr><w:pStyle '
            'w:val="H1"/></w:pPr><w:r><w:t>House</w:t></w:r></w:p><w:p><w:r>'
            f"<w:t>{text}</w:t></w:r></w:p></w:body></w:document>",
        }
    )


def odt(text: str) -> bytes:
    """A document of OpenDocument: a heading, "House", these words, a list and a table."""
    return _archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": '<o:document-content xmlns:o="urn:o" xmlns:t="urn:t" xmlns:b="urn:b">'
            '<o:body><o:text><t:h t:outline-level="1">House</t:h><t:p>'
            f"{text.replace(' ', '<t:s/>')}</t:p><t:list><t:list-item><t:p>warm</t:p></t:list-item>"
            "</t:list><b:table><b:table-row><b:table-cell><t:p>May</t:p></b:table-cell>"
            "<b:table-cell><t:p>900</t:p></b:table-cell></b:table-row></b:table></o:text></o:body>"
            "</o:document-content>",
        }
    )


def epub(text: str) -> bytes:
    """A book, "The house", of two chapters that its package lists the other way round."""
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{}</h1><p>{}</p></body></html>'
    return _archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:c"><rootfiles><rootfile '
            'full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": '<package xmlns="urn:p"><metadata xmlns:dc="urn:dc"><dc:title>The house'
            '</dc:title></metadata><manifest><item id="b" href="text/b.xhtml"/><item id="a" '
            'href="text/a%20one.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/>'
            "</spine></package>",
            "OPS/text/b.xhtml": page.format("Two", "The end."),
            "OPS/text/a one.xhtml": page.format("One", text),
        }
    )


def _archive(members: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with ZipFile(data, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return data.getvalue()
