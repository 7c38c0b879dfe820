"""The command line."""


def main() -> None:
    """Run the ``screentest`` command."""
    from screentest.cli.app import app

    app()
