"""The notebooks in examples/ run; `make docs` runs them in Jupyter, and refuses a picture that does not show itself."""

import ast

import pytest

from site_tools import notebooks


def run_notebook(name):
    """Run the cells in one namespace, as Jupyter does; what the last line of a cell gives must show itself."""
    namespace = {}
    for cell in notebooks.read(name)["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], f"{name} is stored with outputs; clear them"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
            if type(shown).__module__.startswith("discreet"):
                assert any(hasattr(shown, form) for form in ("_repr_png_", "_repr_html_")), type(shown)


@pytest.mark.needs("matplotlib", "pandas", "pyarrow", "scipy")
@pytest.mark.parametrize("name", [name for name in notebooks.names() if name != notebooks.SPARK])
def test_the_cells_of_an_example_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_notebook(name)


@pytest.mark.slow
@pytest.mark.needs("pyspark")
@pytest.mark.xdist_group("spark")
def test_the_cells_of_the_example_with_spark_run(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_notebook(notebooks.SPARK)


def test_an_output_becomes_a_picture_a_table_or_text():
    picture = {"output_type": "display_data", "data": {"image/png": "abc=\n", "text/plain": "<Figure size 1>"}}
    assert "data:image/png;base64,abc=" in notebooks._shown(picture)
    table = {"output_type": "execute_result", "data": {"text/html": "<table>\n\n<tr></tr></table>", "text/plain": "x"}}
    assert notebooks._shown(table) == '<div class="shown"><table>\n<tr></tr></table></div>'
    assert notebooks._shown({"output_type": "stream", "name": "stdout", "text": "a < b"}).count("&lt;") == 1
    with pytest.raises(ValueError, match="does not show itself"):
        notebooks._shown({"output_type": "execute_result", "data": {"text/plain": "<Figure size 640x480 with 1 Axes>"}})
