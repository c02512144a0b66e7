"""Checks pages and style sheets: that they have no error of syntax, and nothing inline that a browser would refuse to run."""

import pathlib
import re
import sys

import html5lib
import tinycss2


def problems_of_page(text):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    document = parser.parse(text)
    for (line, column), code, values in parser.errors:
        yield f"{line}:{column}: {html5lib.constants.E[code] % values}"
    for element in document.iter():
        # The content security policy allows scripts and styles from files of the cloud only.
        if element.tag == "style" or (element.tag == "script" and not element.get("src")):
            yield f"inline <{element.tag}>"
        for name in element.keys():
            if name == "style" or name.startswith("on"):
                yield f"inline attribute {name} of <{element.tag}>"
    opened = []
    for kind, name in re.findall(r"\{\{([#^/]?)([A-Za-z]*)\}\}", text):
        if kind == "/" and (not opened or opened.pop() != name):
            yield f"{{{{/{name}}}}} ends no section"
        elif kind in ("#", "^"):
            opened.append(name)
    for name in opened:
        yield f"section {name} does not end"


def problems_of_style_sheet(text):
    for rule in tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True):
        if rule.type == "error":
            yield f"{rule.source_line}:{rule.source_column}: {rule.message}"
        elif rule.type == "qualified-rule":
            for item in tinycss2.parse_declaration_list(rule.content, skip_comments=True, skip_whitespace=True):
                if item.type == "error":
                    yield f"{item.source_line}:{item.source_column}: {item.message}"


def main():
    folder = pathlib.Path(sys.argv[1])
    checks = {".html": problems_of_page, ".css": problems_of_style_sheet}
    files = [file for file in sorted(folder.iterdir()) if file.suffix in checks]
    problems = [
        f"{file}: {problem}" for file in files for problem in checks[file.suffix](file.read_text(encoding="utf-8"))
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems or not files:
        sys.exit(1)
    print(f"{len(files)} pages and style sheets without an error")


main()
