"""hushprice certificate and hushprice verify: a pricer's guarantee as a signed file, and the check of one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def certificate(
    *,
    pricer: Annotated[Path | None, typer.Option(metavar="FILE", help="A saved pricer.")] = None,
    fit: Annotated[Path | None, typer.Option(metavar="FILE.json", help="Or what `hushprice fit` wrote.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="KEYFILE", help="The key to sign with (PEM, Ed25519).")] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE.json", help="The certificate, a new file.")] = None,
    previous: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="The certificate before this one, which it then follows.")
    ] = None,
    date: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Date of issue, in UTC.  [default: today]")
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="Make a key: KEYFILE to sign, KEYFILE.pub to give away.")
    ] = None,
) -> None:
    """Certify what a saved pricer, or a fit, has paid for and spent, or make the key for it.

    The saved pricer, or fit, is read and left as it is. The certificate holds nothing computed from raw records.

    Examples:

    \b
      hushprice certificate --new-key shop.key
      hushprice certificate --pricer shop.pricer --key shop.key --output shop-2026-10.json
      hushprice certificate --fit fit.json --key shop.key --output fit-certificate.json
    """
    from hushprice.errors import InvalidInput
    from hushprice.privacy.certificates import signing
    from hushprice.privacy.certificates.certificate import Certificate

    if new_key is not None:
        if (pricer, fit, key, output, previous, date) != (None,) * 6:
            raise InvalidInput("--new-key makes a key and nothing else; certify in a second call")
        typer.echo(f"wrote {new_key} (keep it secret) and {signing.new_key(new_key)}")
        return
    if (pricer is None) == (fit is None) or key is None or output is None:
        raise InvalidInput("--pricer or --fit, --key and --output must be given, or --new-key alone")
    issued = None if date is None else date.date()
    if fit is not None:
        if previous is not None:
            raise InvalidInput("--previous is for pricers: a fit is certified once")
        from hushprice.logs.fit.fit_result import Fit

        Fit.read(fit).certificate(signing.read_key(key), issued=issued).write(output)
        typer.echo(f"wrote {output}")
        return
    from hushprice.live.pricer import Pricer

    signer, before = signing.read_key(key), None if previous is None else Certificate.read(previous)
    # Simulated noise is for the certificate to refuse, which says why.
    live = Pricer.load(pricer or "", simulation=True)
    live.certificate(signer, issued=issued, previous=before).write(output)
    typer.echo(f"wrote {output}")


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate.", show_default=False)],
    *,
    public_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Whose signature it must be (PEM, Ed25519); needed after a change of key."),
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="The certificate that it must follow.")
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Compute everything in a certificate again, and say what that shows and what no file can.

    Examples:

    \b
      hushprice verify shop-2026-10.json --public-key shop.key.pub
      hushprice verify shop-2026-11.json --previous shop-2026-10.json --format json
    """
    from hushprice.cli import show
    from hushprice.errors import InvalidInput
    from hushprice.policies import verification
    from hushprice.privacy.certificates import signing
    from hushprice.privacy.certificates.certificate import Certificate

    given = None if public_key is None else signing.read_public_key(public_key)
    before = None if previous is None else Certificate.read(previous)
    read = Certificate.read(file)
    try:
        checked = verification.verify(read, public_key=given, previous=before)
    except InvalidInput as problem:
        raise InvalidInput(f"certificate {str(file)!r}: {problem}") from None
    if format is options.Format.json:
        show.json(checked.to_dict())
        return
    for line in checked.holds:
        typer.echo(f"holds: {line}")
    for field, line in checked.stated.items():
        typer.echo(f"stated, not checkable: {field}: {line}")
    for line in checked.unprovable:
        typer.echo(f"no file can prove: {line}")
