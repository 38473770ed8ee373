"""The Spark session: its files, and its errors in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet import errors
from discreet.errors import DiscreetError

_OURS = re.compile(r"^discreet\.errors\.(\w+): (.*)$", re.MULTILINE)
_UNKNOWN = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] ([^.]*)")
_LACKING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)", re.MULTILINE)


def context_of(session: Any, *, needed: bool = True) -> Any:
    """Return the session's context; None, or an error if it is needed, where the session has none."""
    try:
        return session.sparkContext
    except Exception as error:
        if not needed:
            return None
        raise DiscreetError("plans of several rounds need a classic Spark session, not Spark Connect") from error


def is_local(context: Any) -> bool:
    """Whether there is a single machine, so that no block is lost and computed again, or kept twice."""
    return str(context.master).startswith("local") and "cluster" not in context.master


def _path(session: Any, address: str) -> tuple[Any, Any]:
    path = context_of(session)._jvm.org.apache.hadoop.fs.Path(address)
    return path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()), path


def exists(session: Any, address: str) -> bool:
    """Whether there is a file or folder at an address that Spark can read."""
    files, path = _path(session, address)
    return bool(files.exists(path))


def remove(session: Any, address: str) -> None:
    """Remove a folder with all it holds."""
    files, path = _path(session, address)
    files.delete(path, True)


def taken(target: str) -> DiscreetError:
    """Return the error for a folder that exists."""
    return DiscreetError(f"{target} exists; new reports would spend the budget again")


@contextmanager
def explained(target: str = "") -> Iterator[None]:
    """Turn what Spark makes of our errors back into one sentence; its own errors stay as they are."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        if error.getCondition() == "PATH_ALREADY_EXISTS":
            raise taken(target) from None
        raise DiscreetError(str(error).split("\n")[0]) from None
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        ours, lacking, unknown = _OURS.findall(text), _LACKING.findall(text), _UNKNOWN.search(text)
        if ours:
            name, sentence = ours[-1]
            raise getattr(errors, name, DiscreetError)(sentence) from None
        if unknown:
            raise DiscreetError(f"format is not one that Spark knows: {unknown[1]}") from None
        if lacking:
            raise DiscreetError(
                f"Spark's Python workers have no {lacking[-1]}: install discreet[spark] on them, or let "
                "PYSPARK_PYTHON name the interpreter of an environment that has it"
            ) from None
        raise
