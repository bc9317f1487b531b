"""As the original: the package also imports environments, which want a package that is not here."""

import a_simulator_that_nobody_has  # pyright: ignore[reportMissingImports]  # noqa: F401
