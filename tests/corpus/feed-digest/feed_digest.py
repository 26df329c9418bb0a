from xml.etree import ElementTree

import click


@click.command()
@click.argument("feed", type=click.Path(exists=True))
@click.option("--limit", default=5, help="How many entries.")
@click.option("--markdown", is_flag=True)
def digest(feed: str, limit: int, markdown: bool) -> None:
    """Show the newest entries of a feed."""
    for item in ElementTree.parse(feed).getroot().findall(".//item")[:limit]:
        title, link = item.findtext("title"), item.findtext("link")
        click.echo(f"- [{title}]({link})" if markdown else f"{title}\t{link}")


if __name__ == "__main__":
    digest()
