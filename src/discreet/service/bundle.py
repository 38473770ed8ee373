"""Bundles: the modules of a page as one script, so that a visitor makes one request instead of twenty.

The modules stay what people read and test. A bundle is made from them by the rules below, the same bytes on every
machine, so anybody can make it again from the released package, without any other tool. It understands what our modules
use (imports and exports at the beginning of a line, no cycles) and refuses anything else.
"""

import hashlib
import re
from collections.abc import Callable
from posixpath import dirname, join, normpath

from discreet.errors import DiscreetError

_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from |\* as ([\w$]+) from |([\w$]+) from )?"(\.[^"]+)";\n?', re.M)
_REEXPORT = re.compile(r'^export \{([^}]*)\} from "(\.[^"]+)";\n?', re.M)
_EXPORT = re.compile(r"^export (?=(?:async function\*?|function\*?|class|const) ([\w$]+))", re.M)
_DEFAULT = re.compile(r"^export default ", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.M)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*?(?:[^*]|\*(?!/))*\*/)[ \t]*\n", re.M)


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """Return a module and everything that it imports as one script.

    Parameters
    ----------
    entry : str
        The name of the module that the page runs, such as ``answer.js``.
    read : callable
        Returns the text of a module by its name.

    Examples
    --------
    >>> modules = {"a.js": 'import { one } from "./b.js";\\nalert(one);\\n', "b.js": "export const one = 1;\\n"}
    >>> print(bundle("a.js", modules.__getitem__))
    // b.js
    const module_0 = (() => {
    const one = 1;
    return { one };
    })();
    // a.js
    (() => {
    const { one } = module_0;
    alert(one);
    })();
    """
    names: dict[str, str] = {}
    parts: list[str] = []
    _add(entry, read, names, parts, ())
    return "\n".join(parts)


def _add(name: str, read: Callable[[str], str], names: dict[str, str], parts: list[str], above: tuple[str, ...]) -> str:
    """Add a module after those that it imports; return the variable that holds its exports."""
    if name in names:
        return names[name]
    if name in above:
        raise DiscreetError(f"{name} imports itself by way of {', '.join(above)}, so it cannot be bundled")
    text = read(name)
    given: list[str] = []

    def variable(path: str) -> str:
        return _add(normpath(join(dirname(name), path)), read, names, parts, (*above, name))

    def imported(found: re.Match[str]) -> str:
        listed, everything, default, path = found.groups()
        source = variable(path)
        if default:
            return f"const {default} = {source}.default;\n"
        if everything:
            return f"const {everything} = {source};\n"
        return f"const {{ {_pairs(listed, ': ')} }} = {source};\n" if listed else ""

    def passed_on(found: re.Match[str]) -> str:
        source = variable(found[2])
        for pair in _pairs(found[1], " ").split(", "):
            own, _, other = pair.partition(" ")
            given.append(f"{other or own}: {source}.{own}")
        return ""

    text = _REEXPORT.sub(passed_on, _IMPORT.sub(imported, text))
    given += _EXPORT.findall(text)
    text, defaults = _DEFAULT.subn("const whole = ", _EXPORT.sub("", text))
    given += ["default: whole"] * defaults
    if left := _LEFT.search(text):
        raise DiscreetError(f"{name} cannot be bundled: {left[0]!r} is not a named import or export")
    body = _COMMENT.sub("", text).strip("\n") if text.count("`") % 2 == 0 else text.strip("\n")
    head, tail = "(() => {", "})();"
    if given:
        names[name] = f"module_{len(names)}"
        head, tail = f"const {names[name]} = (() => {{", f"return {{ {', '.join(given)} }};\n}})();"
    else:
        names[name] = "undefined"
    parts.append("\n".join(part for part in (f"// {name}", head, body, tail) if part))
    return names[name]


def _pairs(listed: str, separator: str) -> str:
    """Return ``a, b as c`` with another separator between a name and its alias."""
    found = [one.split() for one in listed.split(",") if one.strip()]
    return ", ".join(one[0] if len(one) == 1 else f"{one[0]}{separator}{one[2]}" for one in found)


def named(stem: str, suffix: str, data: bytes) -> str:
    """Return a file name that changes with its content, so that browsers may keep the file for ever.

    Examples
    --------
    >>> named("style", ".css", b"")
    'style-e3b0c44298fc1c14.css'
    """
    return f"{stem}-{hashlib.sha256(data).hexdigest()[:16]}{suffix}"
