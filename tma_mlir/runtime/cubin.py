"""What a cubin says about its kernels, read off the ELF file."""

from __future__ import annotations

import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")
_WITH_DATA = 4
"""Format of an attribute in ``.nv.info`` whose value is a length and that many bytes; others hold the value itself."""

_PARAMETER = (0x17, 0x45)
"""``EIATTR_KPARAM_INFO`` and its second version (as ``cuobjdump -elf`` prints them): one for each parameter."""


def parameter_count(cubin: bytes, kernel: str) -> int | None:
    """The number of parameters of ``kernel``; None where the cubin does not say it, as for kernels without any."""
    count = position = 0
    try:
        info = _section(cubin, f".nv.info.{kernel}".encode())
        while position < len(info):
            form, attribute, value = struct.unpack_from("<BBH", info, position)
            count += attribute in _PARAMETER
            position += 4 + (value if form == _WITH_DATA else 0)
    except (struct.error, ValueError, OverflowError):  # no ELF file, or a damaged one: the driver will say so
        return None
    return count or None


def _section(elf: bytes, name: bytes) -> bytes:
    """The content of a section of a little-endian 64-bit ELF file; empty if there is none of that name."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no ELF file")
    (start,) = struct.unpack_from("<Q", elf, 40)
    size, count, names_index = struct.unpack_from("<HHH", elf, 58)
    headers = [_SECTION.unpack_from(elf, start + size * index) for index in range(count)]
    names = headers[names_index][4] if names_index < count else 0
    for header in headers:
        first = names + header[0]
        if elf[first : elf.index(b"\0", first)] == name:
            return elf[header[4] : header[4] + header[5]]
    return b""
