#!/usr/bin/env python3
"""Makes the files beside it from the wheel of cryptography_vectors.

    pip download --no-deps cryptography_vectors==50.0.2
    ./cut.py cryptography_vectors-50.0.2-py3-none-any.whl

A file is blocks between blank lines. Blocks that begin with `[` open a
section; a block with the field that marks a record is one; what else a
section holds (a modulus, say) is kept with it.
"""

import hashlib
import pathlib
import sys
import zipfile

SHA256 = "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0"
HERE = pathlib.Path(__file__).parent


def every(step):
    """Of each section the first record and then each step-th."""
    return lambda index, _record: index % step == 0


def bytes_only(step):
    """Of the records with whole bytes, each step-th."""

    def keep(index, record):
        return int(record["DataUnitLen"]) % 8 == 0 and index % step == 0

    return keep


def sha256_only(step):
    """Of the records with SHA-256, each step-th."""
    seen = {}

    def keep(index, record):
        if record.get("SHAAlg") != "SHA256":
            return False
        if index < seen.get("index", -1):
            seen.clear()
        seen["index"] = index
        seen["count"] = seen.get("count", -1) + 1
        return seen["count"] % step == 0

    return keep


def any_section(_sections):
    return True


def gcm_section(sections):
    return "[IVlen = 96]" in sections and "[Taglen = 128]" in sections


def rsa_section(sections):
    return "[mod = 1536]" not in sections


def p256_section(sections):
    return "[P-256,SHA-256]" in sections


def files():
    """(path in the wheel, field that marks a record, sections, records)."""
    for mode in ("ECB", "CBC"):
        for bits in (128, 192, 256):
            for test in ("GFSbox", "KeySbox", "MMT", "VarKey", "VarTxt"):
                step = 4 if test.startswith("Var") else 1
                path = f"ciphers/AES/{mode}/{mode}{test}{bits}.rsp"
                yield path, "COUNT", any_section, every(step)
    for bits in (128, 192, 256):
        yield f"ciphers/AES/CTR/aes-{bits}-ctr.txt", "COUNT", any_section, every(1)
        for test in ("Decrypt", "EncryptExtIV"):
            yield f"ciphers/AES/GCM/gcm{test}{bits}.rsp", "Count", gcm_section, every(3)
    for bits in (128, 256):
        for tweak in ("128hexstr", "dataunitseqno"):
            path = f"ciphers/AES/XTS/tweak-{tweak}/XTSGenAES{bits}.rsp"
            yield path, "COUNT", any_section, bytes_only(5)
    for name, folder, step in (
        ("SHA1", "SHA1", 8),
        ("SHA256", "SHA2", 8),
        ("SHA384", "SHA2", 16),
        ("SHA512", "SHA2", 16),
    ):
        yield f"hashes/{folder}/{name}ShortMsg.rsp", "MD", any_section, every(1)
        yield f"hashes/{folder}/{name}LongMsg.rsp", "MD", any_section, every(step)
        yield f"hashes/{folder}/{name}Monte.rsp", "MD", any_section, every(1)
    yield "HMAC/rfc-4231-sha256.txt", "MD", any_section, every(1)
    rsa = "asymmetric/RSA/FIPS_186-2/"
    yield rsa + "SigGen15_186-3.rsp", "S", rsa_section, sha256_only(1)
    yield rsa + "SigVer15_186-3.rsp", "S", rsa_section, sha256_only(1)
    yield rsa + "SigVerPSS_186-3.rsp", "S", rsa_section, sha256_only(3)
    for test in ("SigGen", "SigVer"):
        path = f"asymmetric/ECDSA/FIPS_186-3/{test}.rsp"
        yield path, "Msg", p256_section, every(1)


def fields(block):
    parts = (line.partition("=") for line in block if "=" in line)
    return {name.strip(): value.strip() for name, _, value in parts}


def blocks(text):
    block = []
    for line in text.splitlines() + [""]:
        if line.strip():
            block.append(line.strip())
        elif block:
            yield block
            block = []


def cut(text, marker, wants_section, keep):
    sections, index, kept, opened = [], 0, [], False
    for block in blocks(text):
        headings = [line for line in block if line.startswith("[")]
        if headings:
            sections = sections + headings if opened else headings
            index = 0
        opened = bool(headings)
        if not sections or all(line.startswith("#") for line in block):
            if not sections and marker not in fields(block):
                kept.append(block)
                continue
        if not wants_section(sections):
            continue
        if marker in fields(block):
            if keep(index, fields(block)):
                kept.append(block)
            index += 1
        else:
            kept.append(block)
    return "\n\n".join("\n".join(block) for block in kept) + "\n"


def main(wheel):
    digest = hashlib.sha256(pathlib.Path(wheel).read_bytes()).hexdigest()
    if digest != SHA256:
        sys.exit(f"{wheel} is another archive: SHA-256 {digest}, not {SHA256}")
    with zipfile.ZipFile(wheel) as archive:
        for path, marker, wants_section, keep in files():
            text = archive.read("cryptography_vectors/" + path).decode("ascii")
            target = HERE / pathlib.Path(path.replace("tweak-", "XTS-")).name
            if "XTS" in path:
                target = HERE / f"{path.split('/')[-2]}-{target.name}"
            target.write_text(cut(text, marker, wants_section, keep))


if __name__ == "__main__":
    main(*sys.argv[1:])
