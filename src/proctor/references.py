"""Checkpoints that lie elsewhere, by reference: `hf://ORG/NAME@REVISION/FILE` on the Hugging Face Hub, and
`wandb://ENTITY/PROJECT/ARTIFACT:VERSION/FILE` among the artifacts of Weights & Biases. Without `/FILE`: the folder.

A reference whose revision can move, a branch or an alias, is *pinned* when a run begins: from then on the commit or the
version that was found takes its place, in the record, in every worker and on resume. Files come through the cache of
the package of each service, which also knows the user's token; Proctor neither reads nor keeps that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from proctor.errors import InputError

HF, WANDB = "hf://", "wandb://"
FORMS = {HF: "hf://ORG/NAME@REVISION/FILE", WANDB: "wandb://ENTITY/PROJECT/ARTIFACT:VERSION/FILE"}
_HF = re.compile(r"hf://(?P<home>[\w.-]+/[\w.-]+)(@(?P<revision>refs/(pr|convert)/[^/]+|[^/@]+))?(/(?P<file>[^@]+))?")
_WANDB = re.compile(r"wandb://(?P<home>[\w. -]+/[\w. -]+/[\w.-]+)(:(?P<revision>[\w.-]+))?(/(?P<file>.+))?")
_FIXED = {HF: re.compile(r"[0-9a-f]{40}"), WANDB: re.compile(r"v\d+")}


@dataclass(frozen=True)
class Reference:
    """A file of somebody else's, or a folder where `file` is None. `home` is the repository or artifact."""

    scheme: str
    home: str
    revision: str
    file: str | None

    def __str__(self) -> str:
        mark, revision = ("@", self.revision.replace("/", "%2F")) if self.scheme == HF else (":", self.revision)
        return f"{self.scheme}{self.home}{mark}{revision}" + ("" if self.file is None else f"/{self.file}")

    @property
    def pinned(self) -> bool:
        """Whether the revision is one that cannot move."""
        return _FIXED[self.scheme].fullmatch(self.revision) is not None

    @property
    def stem(self) -> str:
        """The name of an agent that gives none."""
        return self.home.rpartition("/")[2] if self.file is None else PurePosixPath(self.file).stem

    def at(self, revision: str) -> Reference:
        return Reference(self.scheme, self.home, revision, self.file)


def is_reference(text: object) -> bool:
    return isinstance(text, str) and text.startswith((HF, WANDB))


def parse(text: str) -> Reference:
    """Raises InputError where the text has neither form, or a file outside of its folder."""
    scheme = HF if text.startswith(HF) else WANDB
    found = (_HF if scheme == HF else _WANDB).fullmatch(text)
    file = None if found is None or found["file"] is None else found["file"].rstrip("/")
    steps = [] if found is None else [*found["home"].split("/"), found["revision"], *(file or "").split("/")[:-1]]
    outside = {".", ".."} & {*steps, (file or "").rpartition("/")[2]} or (file or "").startswith("/") or "\\" in text
    if found is None or outside:
        raise InputError(f'"{text}" is no checkpoint; expected {FORMS[scheme]}, or without /FILE for the whole folder')
    usual = "main" if scheme == HF else "latest"
    return Reference(scheme, found["home"], unquote(found["revision"] or usual), file or None)
