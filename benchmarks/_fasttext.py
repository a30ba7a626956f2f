"""Runs in fastText's own environment: trains on a file of lines, prints figures as JSON."""

import json
import sys
import time

import fasttext

CUTS = (1, 3, 5)
RATES = (0.5, 0.2, 0.1)  # the first with which the weights stay finite


def main():
    folder, loss, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for rate in RATES:
        start = time.perf_counter()
        try:
            model = fasttext.train_supervised(
                f"{folder}/train", loss=loss, dim=100, thread=threads, epoch=25, lr=rate, verbose=0
            )
            break
        except RuntimeError:  # "Encountered NaN."
            if rate == RATES[-1]:
                raise
    seconds = time.perf_counter() - start
    precision = [model.test(f"{folder}/test", k=k)[1] for k in CUTS]
    print(json.dumps({"seconds": seconds, "precision": precision, "rate": rate}))


if __name__ == "__main__":
    main()
