"""Trust is the owner's word, kept outside the workspace, by its real path."""

import shutil
from pathlib import Path

import pytest

from assistant.errors import StorageError
from assistant.workspace import trust
from assistant.workspace.folder import Workspace


def test_a_workspace_is_untrusted_until_its_owner_says_so(workspace: Workspace) -> None:
    assert not trust.is_trusted(workspace)
    assert trust.grant(workspace)
    assert trust.is_trusted(workspace)
    assert not trust.grant(workspace)


def test_a_copy_of_a_trusted_workspace_is_untrusted(workspace: Workspace, tmp_path: Path) -> None:
    trust.grant(workspace)
    copy = tmp_path / "copy"
    shutil.copytree(workspace.root, copy)
    assert not trust.is_trusted(Workspace(copy))


def test_nothing_inside_a_workspace_can_grant_it_trust(workspace: Workspace) -> None:
    trust.grant(workspace)
    assert not trust.register().is_relative_to(workspace.root)


def test_a_damaged_register_is_an_error_and_trusts_nobody(workspace: Workspace) -> None:
    trust.grant(workspace)
    trust.register().write_text('{"all": true}')
    with pytest.raises(StorageError, match="damaged"):
        trust.is_trusted(workspace)
