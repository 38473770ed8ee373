"""What several test files share: one Spark on this machine, started when the first test asks for it."""

import os
import shutil
import sys

import pytest
from hypothesis import settings

settings.register_profile("discreet", deadline=None)  # the machine is shared: time says nothing about the code
settings.load_profile("discreet")

HOW = "Spark needs Java 17 or newer: 'make system' installs it (Debian: apt-get install default-jre-headless)"


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two cores; a task that fails is tried once more, as on a cluster."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW)
    from pyspark.sql import SparkSession

    here = os.path.dirname(__file__)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    options = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.python.daemon.module": "spark_daemon",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2,2]").config(map=options).getOrCreate()
    yield session
    session.stop()
