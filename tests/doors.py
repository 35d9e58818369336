#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a name leads to its file: what x.h of src/ or tools/ declares is defined in x.cpp, in its parts x_y.cpp, or
in the folder x/.

    doors.py ROOT          prints a line per header and source that break this, unless EXCEPTIONS has them; exit code 1 if any
    doors.py --self-test   the check finds the mistakes it is meant to find

The text is read without a compiler: comments, strings and preprocessor lines are dropped, and what stands outside of
bodies is taken apart at `;`, `{` and `}`. A declaration and a definition belong together when their names and the types
of their first parameters agree; a member belongs to the header that defines its class.
"""
import collections
import pathlib
import re
import sys
import tempfile

# Headers that other sources define as well, those sources and the reason.
EXCEPTIONS = {
    "emit/c/c_expr": {"emit/c/c_memory": "a load is an expression and its index is one: the rooms would stand in a circle"},
}

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
                   re.S | re.M)
OPENS_NAMESPACE = re.compile(r"^(inline )?namespace( [\w:]+)?$")
OPENS_CLASS = re.compile(r"^(?:template <.*> )?(?:class|struct|union) (?:alignas\(\w+\) )?([\w:]+)(?: final)?(?: : .*)?$")
FUNCTION = re.compile(r"^(?P<head>[^=(]*?)(?P<name>operator ?[^\s(]+|operator\(\)|~?\w+(?:::~?\w+)*) ?\((?P<rest>.*)$")
Item = collections.namedtuple("Item", "owner name first")


def statements(text):
    """(what, scope) of each piece of a file outside of bodies: 'open' pieces end in a body, 'end' pieces in `;`. The
    scope is None within an unnamed namespace, else the name of the class that the piece stands in, or ""."""
    text = NOISE.sub(lambda match: '""' if match.group(0)[0] in "\"'R" else " ", text)
    scopes, piece, skip = [""], "", 0
    for token in re.findall(r"[{};]|[^{};]+", text):
        if skip:
            skip += (token == "{") - (token == "}")
            continue
        if token == "{":
            head = " ".join(piece.split())
            head = re.sub(r"^(?:public|private|protected) ?: ", "", head)
            piece = ""
            space, kind = OPENS_NAMESPACE.match(head), OPENS_CLASS.match(head)
            if space:
                scopes.append(scopes[-1] if space.group(2) else None)
            elif kind:
                scopes.append(None if scopes[-1] is None else kind.group(1).split("::")[-1])
            else:
                yield "open", head, scopes[-1]
                skip = 1
        elif token == "}":
            piece = ""
            if len(scopes) > 1:
                scopes.pop()
        elif token == ";":
            yield "end", " ".join(piece.split()), scopes[-1]
            piece = ""
        else:
            piece += token


def first_type(rest):
    """The words of the first parameter's type, from what stands behind the opening parenthesis."""
    depth, end = 0, 0
    for end, char in enumerate(rest):
        depth += (char in "(<[") - (char in ")>]")
        if (char == "," and depth == 0) or depth < 0:
            break
    words = re.findall(r"[\w:]+", rest[:end].split("=")[0])
    named = [word for word in words if word not in ("const", "struct", "class")]
    return named[0].split("::")[-1] if named else ""


def function_of(head, scope):
    """The function that a piece declares or defines, or None."""
    match = FUNCTION.match(re.sub(r"\[\[.*?\]\] ?", "", head))
    if not match or scope is None:
        return None
    start = match.group("head").split()
    is_other = {"return", "using", "typedef", "friend", "static", "inline", "constexpr", "template", "TILEFUSE_CHECK", "extern"}
    if start and start[0] in is_other or (not start and not scope and "::" not in match.group("name")):
        return None
    parts = match.group("name").split("::")
    owner = parts[-2] if len(parts) > 1 and parts[-2][0].isupper() else scope
    return Item(owner.split("<")[0], parts[-1], first_type(match.group("rest")))


def declared(path):
    """The functions that a header declares and does not define, and the classes it defines."""
    functions, classes = set(), set()
    for kind, head, scope in statements(path.read_text(encoding="utf-8")):
        function = function_of(head, scope)
        if kind == "end" and function and not head.endswith(("= default", "= delete", "= 0")):
            functions.add(function)
    text = NOISE.sub(" ", path.read_text(encoding="utf-8"))
    classes.update(re.findall(r"\b(?:class|struct) (\w+)(?: final)?(?:\s*:(?!:)[^;{]*)?\s*\{", text))
    return functions, classes


def defined(path):
    """The functions that a source defines outside of unnamed namespaces and classes of its own."""
    own = declared(path)[1]
    found = (function_of(head, scope) for kind, head, scope in statements(path.read_text(encoding="utf-8")) if kind == "open")
    return {function for function in found if function and function.owner not in own}


def leads(door, room):
    """Whether the name of a header leads to a source: x.h to x.cpp, to its parts x_y.cpp, and to all of the folder x/."""
    return room == door or room.startswith((door + "_", door + "/"))


def strays(folder):
    """{room of a header: {room of a source that defines part of it: names}}, the header's own room left out."""
    doors = collections.defaultdict(set)
    for path in sorted(folder.rglob("*.h")):
        for function in declared(path)[0]:
            doors[function].add(str(path.relative_to(folder).with_suffix("")))
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in sorted(folder.rglob("*.cpp")):
        room = str(path.relative_to(folder).with_suffix(""))
        for function in defined(path):
            places = doors.get(function, set())
            if places and not any(leads(place, room) for place in places):
                near = min(places, key=lambda place: (place.split("/")[0] != room.split("/")[0], place))
                found[near][room].add("::".join(part for part in (function.owner, function.name) if part))
    return found


def complaints(root):
    """Lines 'src/x/y.h: …' for every header that sources define to which its name does not lead, and for every
    exception that is none any more."""
    found, known = [], set()
    for base in ("src", "tools"):
        for door, rooms in strays(root / base).items():
            for room, names in rooms.items():
                known.add((door, room))
                if room not in EXCEPTIONS.get(door, {}):
                    found.append(f"{base}/{door}.h: {base}/{room}.cpp defines {', '.join(sorted(names))}")
    found += [f"{door}.h: {room}.cpp defines nothing of it, which EXCEPTIONS says" for door, rooms in EXCEPTIONS.items()
              for room in rooms if (door, room) not in known]
    return sorted(found)


def self_test():
    headers = {"a/one.h": "namespace n {\n// f(int)\nint f(int x);\nint late(long x);\nclass C {\npublic:\n  C();\n  int get() const { return 1; }\n"
                          "  void set(const std::string &to);\n};\n}",
               "a/two.h": "namespace n { int f(const m::Other &x); void g(); }"}
    sources = {"a/one.cpp": "namespace n { namespace { int g() { return 0; } } int f(int x) { return x; } C::C() {} }",
               "a/one_more.cpp": "namespace n { void C::set(const std::string &to) { use(to); } }",
               "a/two.cpp": "namespace n { int f(const m::Other &x) { if (x) { return 1; } return 2; } int late(long x) { return 1; } }",
               "a/three.cpp": "namespace n { void g() {} }"}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (headers | sources).items():
            path = pathlib.Path(folder) / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (pathlib.Path(folder) / "tools").mkdir()
        expected = ["src/a/one.h: src/a/two.cpp defines late", "src/a/two.h: src/a/three.cpp defines g"]
        got = [line for line in complaints(pathlib.Path(folder)) if "EXCEPTIONS" not in line]
        assert got == expected, got
    print("the check finds what it is meant to find")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    found = complaints(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "every name leads to its file")
    sys.exit(1 if found else 0)


main()
