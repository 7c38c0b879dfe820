"""The command line."""


def main() -> None:
    """Run the ``screentest`` command."""
    from screentest.cli.app import app
    from screentest.cli.console import fail
    from screentest.errors import InputError

    try:
        app()
    except OSError as error:
        where = str(error.filename or "")
        unusable = InputError("cannot be read or written", where=where, why=error.strerror or str(error))
        raise SystemExit(fail(unusable).exit_code) from None
