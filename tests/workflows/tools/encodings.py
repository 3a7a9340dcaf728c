"""The encodings in which a server repeats a secret, and a model writes one."""

import base64
import binascii
import bz2
import codecs
import gzip
import html
import json
import lzma
import quopri
import zlib
from collections.abc import Callable
from urllib.parse import quote, quote_plus


DIGITS_OF_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
WIDTH = 8  # of a line of wrapped text
SECRET = "s3cr/et+key=ü?42:pass word"


def encode64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def encode32(raw: bytes) -> str:
    return base64.b32encode(raw).decode()


def deflate(raw: bytes) -> bytes:
    """Pack without a header and a checksum."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(raw) + packer.flush()


def wrap(text: str, line_break: str = "\n") -> str:
    return line_break.join(text[start : start + WIDTH] for start in range(0, len(text), WIDTH))


def divide(text: str, separator: str) -> str:
    """Divide a text after each fifth letter, which isn't where its groups end."""
    return separator.join(text[start : start + 5] for start in range(0, len(text), 5))


def encode58(text: str) -> str:
    number, digits = int.from_bytes(text.encode()), ""
    while number:
        number, digit = divmod(number, 58)
        digits = DIGITS_OF_BASE58[digit] + digits
    return digits


def uuencode(text: str) -> str:
    raw = text.encode()
    lines = [binascii.b2a_uu(raw[start : start + 45]).decode() for start in range(0, len(raw), 45)]
    return f"begin 644 x\n{''.join(lines)}`\nend"


def dump(content: bytes) -> str:
    """Return the content as ``xxd`` shows it, without the letters beside it."""
    lines = (content[start : start + 16] for start in range(0, len(content), 16))
    return "\n".join(f"{16 * number:08x}: {line.hex(' ', 2)}" for number, line in enumerate(lines))


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: quote(text, safe=""),
    "percent in small letters": lambda text: quote(text, safe="").lower(),
    "percent of every byte": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent, and plus for a space": quote_plus,
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: encode64(text.encode()),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of user and secret": lambda text: encode64(f"user:{text}".encode()),
    "base64 in an address": lambda text: f"http://x.test/a/{encode64(text.encode())}/b",
    "base64 of percent": lambda text: encode64(quote(text, safe="").encode()),
    "base64 twice": lambda text: encode64(encode64(text.encode()).encode()),
    "hexadecimal": lambda text: text.encode().hex(),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "JSON of every letter": lambda text: "".join(f"\\u{ord(letter):04X}" for letter in text),
    "HTML": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "gzip in base64": lambda text: encode64(gzip.compress(text.encode(), mtime=0)),
    "base64 three times": lambda text: encode64(encode64(encode64(text.encode()).encode()).encode()),
    "gzip in hexadecimal": lambda text: gzip.compress(text.encode(), mtime=0).hex(),
    "hexadecimal in HTML": lambda text: "".join(f"&#x{ord(digit):x};" for digit in text.encode().hex()),
    "backwards": lambda text: text[::-1],
    "base64 of it backwards": lambda text: encode64(text[::-1].encode()),
    "zlib in base64": lambda text: encode64(zlib.compress(f'{{"x-key": "{text}"}}'.encode())),
    "base32": lambda text: encode32(text.encode()),
    "base32 in small letters": lambda text: encode32(text.encode()).lower().rstrip("="),
    "base32 of user and secret": lambda text: encode32(f"user:{text}".encode()),
    "base32 with the digits of hexadecimal": lambda text: base64.b32hexencode(text.encode()).decode(),
    "base32 of base64": lambda text: encode32(encode64(text.encode()).encode()),
    "UTF-16 in base64": lambda text: encode64(text.encode("utf-16-le")),
    "UTF-16 with a mark in base64": lambda text: encode64(text.encode("utf-16")),
    "UTF-16, large end first, in base64": lambda text: encode64(text.encode("utf-16-be")),
    "UTF-16 in base32": lambda text: encode32(text.encode("utf-16-le")),
    "UTF-16 in hexadecimal": lambda text: text.encode("utf-16-le").hex(),
    "UTF-16 in percent": lambda text: quote(text.encode("utf-16-le"), safe=""),
    "UTF-16 that was read as Latin": lambda text: "\0".join(text),
    "UTF-16 that was read as Latin, in JSON": lambda text: json.dumps("\0".join(text)),
    "base64 of UTF-16 of base64": lambda text: encode64(encode64(text.encode()).encode("utf-16-le")),
    "hexadecimal in capitals": lambda text: text.encode().hex().upper(),
    "hexadecimal in both": lambda text: text[:3].encode().hex().upper() + text[3:].encode().hex(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "hexadecimal with spaces": lambda text: text.encode().hex(" ").upper(),
    "hexadecimal of single bytes": lambda text: ", ".join(f"0x{byte:02X}" for byte in text.encode()),
    "wrapped base64": lambda text: wrap(encode64(text.encode())),
    "wrapped base64 in mail": lambda text: wrap(encode64(text.encode()), "\r\n"),
    "wrapped and indented base64": lambda text: wrap(encode64(text.encode()), "\n    "),
    "wrapped base64 in JSON": lambda text: json.dumps(wrap(encode64(text.encode()), "\r\n")),
    "wrapped base64 in percent": lambda text: quote(wrap(encode64(text.encode()))),
    "wrapped base64 after single words": lambda text: "this\nfollows\n" + wrap(encode64(text.encode())),
    "base64 on two lines after a word": lambda text: "it\n" + "\n".join(
        (encode64(text.encode())[:12], encode64(text.encode())[12:])),
    "wrapped base64 before a word": lambda text: wrap(encode64(text.encode()).rstrip("=")) + "\nends",
    "wrapped base32": lambda text: wrap(encode32(text.encode())),
    "wrapped hexadecimal": lambda text: wrap(text.encode().hex()),
    "wrapped UTF-16 in base64": lambda text: wrap(encode64(text.encode("utf-16-le"))),
    "capitals": lambda text: text.upper().replace("Ü", "ü"),
    "letters as wide as Chinese ones": lambda text: "".join(
        chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text),
    "invisible signs between the letters": "\u200b".join,
    "spaces between the letters": " ".join,
    "a list of its letters": lambda text: json.dumps(list(text)),
    "two strings that are added": lambda text: f'"{text[:12]}" + "{text[12:]}"',
    "octal": lambda text: "".join(f"\\{byte:03o}" for byte in text.encode()),
    "octal with letters": lambda text: "".join(
        f"\\{ord(letter):03o}" if letter in "3rt4" else letter for letter in text),
    "escapes with braces": lambda text: "".join(f"\\u{{{ord(letter):x}}}" for letter in text),
    "escapes with braces and letters": lambda text: "".join(
        f"\\u{{{ord(letter):x}}}" if letter in "3rt4" else letter for letter in text),
    "escapes of eight digits": lambda text: "".join(f"\\U{ord(letter):08x}" for letter in text),
    "quoted-printable": lambda text: quopri.encodestring(text.encode(), quotetabs=True).decode().strip(),
    "quoted-printable of every byte": lambda text: "".join(f"={byte:02X}" for byte in text.encode()),
    "a list of its bytes": lambda text: json.dumps(list(text.encode())),
    "its bytes in a row": lambda text: " ".join(map(str, text.encode())),
    "its bits": lambda text: "".join(f"{byte:08b}" for byte in text.encode()),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "base85 of Adobe": lambda text: base64.a85encode(text.encode(), adobe=True).decode(),
    "base85 of user and secret": lambda text: base64.b85encode(f"user:{text}".encode()).decode(),
    "base85 in JSON": lambda text: json.dumps(base64.a85encode(text.encode()).decode()),
    "raw deflate in base64": lambda text: encode64(deflate(text.encode())),
    "calls with its bytes": lambda text: "+".join(f"CHAR({byte})" for byte in text.encode()),
    "an array of its bytes": lambda text: json.dumps(dict(enumerate(text.encode()))),
    "an array of its bytes on many lines": lambda text: json.dumps(dict(enumerate(text.encode())), indent=2),
    "its bytes as fractions": lambda text: json.dumps([float(byte) for byte in text.encode()]),
    "its bytes in quotes": lambda text: json.dumps([str(byte) for byte in text.encode()]),
    "octal numbers": lambda text: " ".join(f"{byte:03o}" for byte in text.encode()),
    "octal numbers of Python": lambda text: ", ".join(map(oct, text.encode())),
    "hexadecimal in pairs of bytes": lambda text: text.encode().hex(" ", 2),
    "hexadecimal with dashes": lambda text: text.encode().hex("-", -4),
    "hexadecimal as a dump": lambda text: dump(text.encode()),
    "its bits in groups": lambda text: " ".join(f"{byte:08b}" for byte in text.encode()),
    "base58": encode58,
    "base58 of user and secret": lambda text: encode58(f"user:{text}"),
    "base64 of base58": lambda text: encode64(encode58(text).encode()),
    "base58 of base64": lambda text: encode58(encode64(text.encode())),
    "uuencode": uuencode,
    "uuencode of user and secret": lambda text: uuencode(f"user:{text}"),
    "uuencode on several lines": lambda text: uuencode(f"{'x' * 30}{text}{'y' * 30}"),
    "uuencode in JSON": lambda text: json.dumps(uuencode(f"{'x' * 31}{text}")),
    "uuencode in HTML": lambda text: html.escape(uuencode(f"{'x' * 32}{text}")),
    "uuencode with accents for spaces": lambda text: uuencode(text).replace(" ", "`"),
    "bz2 in base64": lambda text: encode64(bz2.compress(text.encode())),
    "bz2 in hexadecimal": lambda text: bz2.compress(text.encode()).hex(),
    "xz in base64": lambda text: encode64(lzma.compress(text.encode())),
    "xz of the highest preset in base64": lambda text: encode64(lzma.compress(text.encode(), preset=9)),
    "lzma in base64": lambda text: encode64(lzma.compress(text.encode(), format=lzma.FORMAT_ALONE)),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "rot13 backwards": lambda text: codecs.encode(text[::-1], "rot13"),
    "rot13 in JSON": lambda text: json.dumps(codecs.encode(text, "rot13")),
    "base64 of rot13": lambda text: encode64(codecs.encode(text, "rot13").encode()),
    "rot13 in capitals": lambda text: codecs.encode(text.upper().replace("Ü", "ü"), "rot13"),
    "base64 with dots between": lambda text: ".".join(encode64(text.encode())),
    "base64 with dots after each fifth": lambda text: divide(encode64(text.encode()), "."),
    "base64 with line breaks between": lambda text: "\n".join(encode64(text.encode())),
    "base64 on lines of other lengths": lambda text: divide(encode64(text.encode()), "\n\n  "),
    "base64 of user and secret with dots": lambda text: divide(encode64(f"user:{text}".encode()), "."),
    "base64 in several strings": lambda text: json.dumps(divide(encode64(text.encode()), ".").split(".")),
    "base64 in strings that are added": lambda text: divide(encode64(f"{text} {text}".encode()), "' + '"),
    "base64 backwards": lambda text: encode64(text.encode())[::-1],
    "base32 with dashes": lambda text: divide(encode32(text.encode()), "-"),
    "hexadecimal divided anywhere": lambda text: divide(text.encode().hex(), "/"),
    "base64 of wrapped base64": lambda text: encode64(wrap(encode64(text.encode())).encode()),
}  # fmt: skip
