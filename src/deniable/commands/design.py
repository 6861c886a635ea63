"""`deniable design`: opens a local page on which a study is made."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from deniable.commands.shared import console
from deniable.commands.shared.options import FILE, PORT, whole_from
from deniable.commands.shared.stores import suggest_extra


@click.command("design")
@click.argument("study", type=FILE, default=Path("study.toml"))
@click.option(
    "--people",
    type=whole_from(1, 10**15),
    help="The number of people who will answer, at first.  [default: what the file says, or 1,000]",
)
@click.option(
    "--port",
    type=PORT,
    default="0",
    show_default=False,
    help="The port of the page.  [default: any free one]",
)
@click.option("--no-browser", is_flag=True, help="Print the link only; open no browser.")
def design_study(study: Path, people: int | None, port: int, no_browser: bool) -> None:
    """Make a study on a local page.

    STUDY is a TOML file, study.toml unless named otherwise; it is made when you save. The page shows the
    expected error of every question, an attacker's best guess, results of simulated people and the survey as
    you write. Only this machine can open it, by the link. Ctrl+C ends it.
    """
    console.refuse_ending(study, [".toml"], "a study")
    if not study.exists():
        console.note(f"{study} is new; it is made when you save")
    with suggest_extra():
        from deniable.collect.serving import listen
        from deniable.design import app
    with listen("127.0.0.1", port) as taken:
        designer = app.make_designer(study, people, taken)
        link = f"http://127.0.0.1:{taken.getsockname()[1]}/{designer.token}/"
        click.echo(f"design  {link}")
        console.note("Ctrl+C ends it; only what you save is kept")
        if not no_browser:
            _open_browser(link)
        app.run(designer, taken)
    console.note("stopped")


def _open_browser(link: str) -> None:
    """Open the link, unless the only browser is one for terminals, which would take this one."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if type(browser) is not webbrowser.GenericBrowser:
        browser.open(link)
