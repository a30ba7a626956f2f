"""Runs in fastText's own environment: trains on a file of lines, prints figures as JSON."""

import json
import sys
import time

import fasttext

CUTS = (1, 3, 5)


def main():
    folder, loss, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    start = time.perf_counter()
    model = fasttext.train_supervised(
        f"{folder}/train", loss=loss, dim=100, thread=threads, epoch=25, lr=0.5, verbose=0
    )
    seconds = time.perf_counter() - start
    precision = [model.test(f"{folder}/test", k=k)[1] for k in CUTS]
    print(json.dumps({"seconds": seconds, "precision": precision}))


if __name__ == "__main__":
    main()
