"""Bundles: what modules say is what the one script does, and what the rules do not cover is refused."""

import shutil
import subprocess

import pytest

from discreet.errors import DiscreetError
from discreet.service import served
from discreet.service.bundle import bundle

MODULES = {
    "page.js": """// A page.
import { one, two as zwei } from "./client/index.js";
import * as all from "./other.js";
import words from "./words.js";
import "./effect.js";
/** A comment. */
const text = `// kept, because it is inside a text`;
console.log(JSON.stringify([one, zwei(), all.three, text, globalThis.effect, words]));
""",
    "client/index.js": 'export { one } from "./parts.js";\nexport { deux as two } from "./parts.js";\n',
    "client/parts.js": "export const one = 1;\nexport function deux() {\n  return 2;\n}\n",
    "other.js": 'import { one } from "./client/parts.js";\nexport class Three {}\nexport const three = one + 2;\n',
    "words.js": 'export default {\n  "a": 5\n}\n',
    "effect.js": "globalThis.effect = 4;\n",
}


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_bundle_does_what_its_modules_do(tmp_path):
    text = bundle("page.js", MODULES.__getitem__)
    (tmp_path / "page.mjs").write_text(text)
    done = subprocess.run(["node", tmp_path / "page.mjs"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == '[1,2,3,"// kept, because it is inside a text",4,{"a":5}]\n'
    assert text.count("const one = 1;") == 1  # each module once
    assert "A comment" not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("export let changing = 1;\n", "is not a named import or export"),
        ('export * from "./effect.js";\n', "is not a named import or export"),
        ('import { a } from "elsewhere";\n', "is not a named import or export"),
        ('import { a } from "./wrong.js";\n', "imports itself by way of wrong.js"),
    ],
)
def test_what_cannot_be_bundled_is_refused(text, said):
    with pytest.raises(DiscreetError, match=said):
        bundle("wrong.js", (MODULES | {"wrong.js": text}).__getitem__)


def test_every_page_has_its_bundle_and_every_module_is_in_one():
    assert {"answer.js", "dashboard.js", "new.js", "style.css"} <= set(served.bundles())
    whole = "".join(data.decode() for _, data in served.bundles().values())
    client = {name for name in served.modules() if name.startswith("client/")}
    for name in served.modules():
        if name.endswith(".js"):
            assert f"// {name}\n" in whole, name
    assert client
    for name, (file, data) in served.bundles().items():
        assert served.integrity(data) in (served.styles() if name == "style.css" else served.script(name))
        assert file.startswith(name.partition(".")[0])
