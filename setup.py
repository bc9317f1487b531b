"""What pyproject.toml cannot say: the examples, which lie beside the package here, are inside it once it is built."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EXAMPLES = Path("examples")


class WithExamples(build_py):
    """Builds the package with `examples/` as `proctor/examples`. An editable installation reads them where they are."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        for source in sorted(EXAMPLES.rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                target = Path(self.build_lib, "proctor", source)
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target), preserve_mode=False)


setup(cmdclass={"build_py": WithExamples})
