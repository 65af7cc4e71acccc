"""What the Python programs share: the records that the test wrote into a file, and the digest of what was read.

A record is key, value, number of headers, then name and value of each: 4 bytes of length (-1 is null), then bytes.
"""
import hashlib
import json
import struct


def load_records(path):
    """The records of the file, as (key, value, [(name, content)])."""
    data = open(path, "rb").read()
    at = 0
    records = []

    def integer():
        nonlocal at
        at += 4
        return struct.unpack_from(">i", data, at - 4)[0]

    def blob():
        nonlocal at
        size = integer()
        if size < 0:
            return None
        at += size
        return data[at - size : at]

    while at < len(data):
        key, value = blob(), blob()
        records.append((key, value, [(blob().decode(), blob()) for _ in range(integer())]))
    return records


class Digest:
    """Sums records as they are read: offset, then the record as the file has it."""

    def __init__(self):
        self.hash = hashlib.sha256()
        self.count = 0

    def blob(self, content):
        self.hash.update(struct.pack(">i", -1 if content is None else len(content)))
        if content:
            self.hash.update(content)

    def add(self, offset, key, value, headers):
        self.hash.update(struct.pack(">q", offset))
        self.blob(key)
        self.blob(value)
        self.hash.update(struct.pack(">i", len(headers)))
        for name, content in headers:
            self.blob(name.encode())
            self.blob(content)
        self.count += 1

    def print(self):
        print(json.dumps({"count": self.count, "digest": self.hash.hexdigest()}))
