"""Optional dependencies: load one when it is needed, or say in one sentence how to install it."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from discreet.errors import MissingExtra


def has(module: str) -> bool:
    """Whether an optional dependency is installed; does not import it.

    Examples
    --------
    >>> has("numpy"), has("no_such_package")
    (True, False)
    """
    return find_spec(module.partition(".")[0]) is not None


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or raise `MissingExtra` with the command that installs it.

    Parameters
    ----------
    module : str
        What to import, such as "scipy.optimize".
    extra : str
        The extra of discreet that brings it, such as "scipy".
    purpose : str
        What needs it, as the subject of a sentence, such as "Estimating a distribution".

    Examples
    --------
    >>> require("no_such_package", "scipy", "Estimating a distribution")
    Traceback (most recent call last):
    ...
    discreet.errors.MissingExtra: Estimating a distribution needs no_such_package: pip install "discreet[scipy]"
    """
    if not has(module):
        needed = module.partition(".")[0]
        raise MissingExtra(f'{purpose} needs {needed}: pip install "discreet[{extra}]"')
    return import_module(module)
