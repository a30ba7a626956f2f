"""Model files taken apart and put together again, with checksums that are right."""

import hashlib
import json
import struct

import numpy as np


def padded(data):
    return data + bytes(-len(data) % 64)


class File:
    """A model file taken apart, so that a test can change it and put it together again."""

    def __init__(self, data):
        front = struct.unpack_from("<Q", data, 16)[0]
        self.version = struct.unpack_from("<HH", data, 8)
        self.manifest = json.loads(data[64:front])
        self.arrays, start = [], front
        for dtype, shape, _ in self.manifest["segments"]:
            size = int(np.prod(shape)) * (1 if dtype == "json" else np.dtype(dtype).itemsize)
            self.arrays.append(bytearray(data[start : start + size]))
            start += len(padded(self.arrays[-1]))

    @property
    def attributes(self):
        return self.manifest["model"]["attributes"]

    def number(self, name):
        """The array of an attribute or of a part of coef_."""
        if name in self.attributes:
            return self.attributes[name]["number"]
        return self.attributes["coef_"]["arrays"][name]

    def array(self, name):
        """The array itself, to be written to."""
        number = self.number(name)
        dtype, shape, _ = self.manifest["segments"][number]
        return np.frombuffer(self.arrays[number], dtype).reshape(shape)

    def replace(self, name, array):
        number = self.number(name)
        self.arrays[number] = bytearray(array.tobytes())
        self.manifest["segments"][number][:2] = array.dtype.str, list(array.shape)

    def bytes(self):
        """With checksums that are right."""
        for segment, array in zip(self.manifest["segments"], self.arrays, strict=False):
            segment[2] = hashlib.sha256(padded(bytes(array))).hexdigest()
        body = b"".join(padded(bytes(array)) for array in self.arrays)
        return sealed(json.dumps(self.manifest).encode(), body, self.version)


def sealed(text, body, version=(4, 0)):
    text = text.ljust(-(-len(text) // 64) * 64)
    front = 64 + len(text)
    start = struct.pack("<8sHHIQQ", b"\x89SKXC\r\n\x1a", *version, 0, front, front + len(body))
    return start + hashlib.sha256(start + text).digest() + text + body
