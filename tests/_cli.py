"""Files of texts with labels for tests of the command line."""

import csv
import json
import re

import numpy as np

NAMES = "sea ship light house rock tower coast lamp soil tree leaf root rain river map road"
WORDS = re.findall(r"\w+", NAMES)
COLUMNS = ["--text", "title", "--labels", "tags", "--separator", ";"]


def samples(n=160, seed=0):
    """Texts and their labels, each of which goes with two words."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        labels = sorted({f"tag {i}" for i in rng.integers(8, size=rng.integers(1, 4))})
        words = [WORDS[2 * int(label[4:]) + rng.integers(2)] for label in labels]
        found.append((" ".join([*words, *rng.choice(WORDS, 2)]), labels))
    return found


def write_csv(path, found):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "tags"])
        writer.writerows((text, ";".join(labels)) for text, labels in found)
    return str(path)


def lines_of(output):
    return [json.loads(line) for line in output.splitlines()]
