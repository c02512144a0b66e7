"""Finds places of Swift sources where a small fault can be planted, and the text of the fault.

Works on lines, without a Swift parser: only lines are used whose meaning is certain from the line alone, and a fault that
does not compile is dropped later. Each fault is an expression or statement that asks `isMutant(number)` at run time, so that
all faults are compiled into one build.
"""

import re

SWITCH = "isMutant(№)"
# The operator of the fault for each operator.
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"(?<=[\w)\]}\"?!]) (<=|>=|==|!=|<|>|&&|\|\|) (?=[\w(\[.!\"-])")
CONDITION = re.compile(r"^(\s*(?:\} else )?)(guard|if|while) (.+?)( else)? \{(.*)$")
STATEMENT = re.compile(r"^(\s+)((?:try |await )*)((?:self\.)?[a-z_]\w*(?:[.?!]+\w+|\[[^\]]*\])*)( [-+]?= |\()(.*)$")
CONSTANT = re.compile(r"^(\s*(?:(?:private|fileprivate|package|public|internal) )*static (?:let|var) \w+.*?[= {(])(\d[\d_]*)\b(.*)$")
STEP = re.compile(r"(?<=[\w)\]]) ([-+]) 1(?![\w.])")
RETURN = re.compile(r"^(\s+)return (true|false)$")
FUNCTION = re.compile(r"^(\s*)(?:[\w@()]+ )*func [^{]*\) (?:(?:async|throws(?:\(\w+\))?|rethrows) )*\{$")
KEYWORDS = {"if", "guard", "while", "for", "switch", "return", "throw", "case", "default", "defer", "do", "catch", "let",
            "var", "func", "init", "precondition", "preconditionFailure", "assert", "assertionFailure", "fatalError",
            "super", "import", "static", "else", "repeat", "break", "continue", "deinit", "typealias", "enum", "struct"}


class Site:
    """A fault: lines of a file and the lines that take their place. `№` in them is the number of the fault."""

    def __init__(self, path, line, kind, before, after, first=None):
        self.path = path
        self.line = line
        self.kind = kind
        self.before = before.strip()
        self.after = after
        # The faulty text alone, for people.
        self.first = first or before.strip()

    @property
    def key(self):
        return f"{self.path}\t{self.kind}\t{self.before}\t{self.first}"


def masked(line):
    """The line with the same length, without the contents of strings and comments."""
    out, inside, index = [], False, 0
    while index < len(line):
        char = line[index]
        if inside:
            if char == "\\":
                out.append("__")
                index += 2
                continue
            if char == '"':
                inside = False
                out.append('"')
            else:
                out.append("_")
        elif char == '"':
            inside = True
            out.append('"')
        elif line.startswith("//", index):
            out.append(" " * (len(line) - index))
            break
        else:
            out.append(char)
        index += 1
    return "".join(out)


def balanced(text):
    depth = 0
    for char in text:
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def clauses(text):
    """The positions of the parts of a condition, split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append((start, index))
            start = index + 1
    parts.append((start, len(text)))
    return parts


def effects(clause):
    """Splits `try await x` into its marks and the rest."""
    match = re.match(r"^\s*((?:try |await )*)(.*?)\s*$", clause)
    return match.group(1), match.group(2)


def operators(text, mask):
    """The places of operators that are outside of brackets."""
    for match in OPERATOR.finditer(mask):
        if mask.startswith("!", match.start(1) + len(match.group(1)) + 1) and match.group(1) in "<>":
            continue
        if balanced(mask[:match.start(1)]):
            yield match


def flipped(text, match):
    return text[:match.start(1)] + COMPARISONS[match.group(1)] + text[match.end(1):]


def is_initializer(lines, index):
    """Whether a line is inside of an initializer, where an assignment may not be left out."""
    indent = len(lines[index]) - len(lines[index].lstrip())
    for line in reversed(lines[:index]):
        own = len(line) - len(line.lstrip())
        if not line.strip() or own > indent or (own == indent and not line.strip().startswith(")")):
            if own == indent and re.search(r"\binit[?!]?\(", line):
                return True
            continue
        indent = own
        if re.search(r"\binit[?!]?[(<]", line):
            return True
        if re.search(r"\b(func|var|subscript)\b", line):
            return False
        if own == 0:
            return False
    return False


def sites(path, text):
    """All faults of one file, in its order."""
    lines = text.split("\n")
    inside_string = False
    conditional = 0
    for index, line in enumerate(lines):
        if line.count('"""') % 2 == 1:
            inside_string = not inside_string
            continue
        stripped = line.strip()
        conditional += stripped.startswith("#if") - stripped.startswith("#endif")
        if inside_string or conditional or '"""' in line or stripped.startswith(("//", "@", "#", "*")):
            continue
        mask = masked(line)
        yield from conditions(path, index, line, mask)
        yield from results(path, index, line, mask)
        yield from constants(path, index, line, mask)
        yield from statements(path, index, lines, mask)
        if FUNCTION.match(mask) and "->" not in mask and "@inlinable" not in "".join(lines[max(0, index - 2):index]):
            indent = re.match(r"\s*", line).group(0) + "    "
            yield Site(path, index, "early return", line, f"{line}\n{indent}if {SWITCH} {{ return }}",
                       "returns at once")


def conditions(path, index, line, mask):
    match = CONDITION.match(mask)
    if not match or not balanced(match.group(3)):
        return
    start = match.start(3)
    keyword = match.group(2)
    for begin, end in clauses(match.group(3)):
        begin, end = start + begin, start + end
        clause = line[begin:end]
        if re.match(r"\s*(let|var|case|#|unsafe)\b", clause) or "{" in mask[begin:end]:
            continue
        marks, rest = effects(clause)
        if re.match(r"(try\?|try!)", rest) or rest in ("", "true", "false"):
            continue
        lead = re.match(r"\s*", clause).group(0)

        def replaced(expression):
            return line[:begin] + lead + marks + expression + line[end:]

        if keyword == "guard":
            yield Site(path, index, "guard", line, replaced(f"({SWITCH} ? true : ({rest}))"), f"{rest} → true")
        else:
            yield Site(path, index, "negation", line, replaced(f"({SWITCH} != ({rest}))"), f"{rest} → its opposite")
        rest_mask = masked(rest)
        for place in operators(rest, rest_mask):
            other = flipped(rest, place)
            yield Site(path, index, "operator", line, replaced(f"({SWITCH} ? ({other}) : ({rest}))"),
                       f"{rest} → {other}")


def results(path, index, line, mask):
    match = RETURN.match(mask)
    if match:
        other = "false" if match.group(2) == "true" else "true"
        yield Site(path, index, "result", line, f"{match.group(1)}return {SWITCH} ? {other} : {match.group(2)}",
                   f"return {other}")
        return
    match = re.match(r"^(\s+)return (.+)$", mask)
    if not match or not balanced(match.group(2)):
        return
    marks, rest = effects(line[match.start(2):])
    if " ? " in rest or rest.startswith(("try?", "try!", "{")):
        return
    for place in operators(rest, masked(rest)):
        other = flipped(rest, place)
        yield Site(path, index, "operator", line, f"{match.group(1)}return {marks}({SWITCH} ? ({other}) : ({rest}))",
                   f"{rest} → {other}")


def constants(path, index, line, mask):
    match = CONSTANT.match(mask)
    if match and "case " not in line and '"' not in match.group(1):
        number = int(match.group(2).replace("_", ""))
        yield Site(path, index, "constant", line,
                   f"{line[:match.start(2)]}({SWITCH} ? {number + 1} : {match.group(2)}){line[match.end(2):]}",
                   f"{match.group(2)} → {number + 1}")
    if "stride(" in mask or "case " in mask:
        return
    for match in STEP.finditer(mask):
        yield Site(path, index, "off by one", line,
                   f"{line[:match.start()]} {match.group(1)} ({SWITCH} ? 0 : 1){line[match.end():]}",
                   f"{match.group(0).strip()} → {match.group(1)} 0")


def statements(path, index, lines, mask):
    match = STATEMENT.match(mask)
    line = lines[index]
    if not match or not balanced(mask) or re.match(r"\w+", match.group(3)).group(0) in KEYWORDS:
        return
    before, after = lines[index - 1].rstrip(), lines[index + 1].strip() if index + 1 < len(lines) else ""
    # Only statements of their own: not the rest of an expression, not the one expression of a body.
    if not (before.endswith("{") or before.endswith("}") or before.endswith(")") or before.endswith(";")
            or re.search(r"[\w\])\"]$", before)) or before.endswith((",", "(", "[", "=", "&&", "||", "?", ":")):
        return
    if after.startswith((".", "&&", "||", "?", ":", "+", "-", "=", "{", "??", "|")) or mask.rstrip().endswith(
            (",", "{", "=", "(", "&&", "||", "+", "-", "?", ":", "??")):
        return
    if before.endswith("{") and after == "}" and "=" not in match.group(4):
        return
    # Memory that is reserved early changes nothing that a test could notice; an initializer has to call the other one.
    if re.search(r"\.reserveCapacity\(|\bself\.init\(", mask) or ("=" not in match.group(4) and " ?? " in mask):
        return
    if "=" in match.group(4):
        if is_initializer(lines, index):
            return
    elif not mask.rstrip().endswith(")"):
        return
    # Arguments of a call look like statements, but stand deeper than the line that opens the call.
    previous = re.match(r"\s*", before).group(0)
    if before.strip() and len(previous) < len(match.group(1)) and not before.endswith(("{", ":", "in")):
        return
    yield Site(path, index, "statement", line, f"{match.group(1)}if !{SWITCH} {{ {line.strip()} }}",
               f"leaves out {line.strip()}")
