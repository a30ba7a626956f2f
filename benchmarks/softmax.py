"""Probabilities over many classes: the softmax models beside exact steps, without arguments.

    python benchmarks/softmax.py [--part many crossing] [--data NAME ...] [--only probit ...]

`many`: every model on sets of 10^3 to 10^4 classes. `crossing`: from how many classes on cheap
steps beat exact ones. One thread; processor seconds. Writes measurements/softmax.md.
"""

import _runner
import _softmax_crossing as crossing
import _softmax_data as data
import _softmax_many as many

FIRST = (
    "First label of each row; unit rows of TF-IDF (omniglot: pixels). Log-loss and accuracy are "
    "over test rows of a class that was trained on. The page of [every model](softmax_models.md), "
    "with tuned parameters and memory, is closed."
)


def write_page():
    found = data.read(many.SCRIPT), data.read(crossing.SCRIPT)
    parts = [data.head("Probabilities over many classes", "softmax", found[0] | found[1]), FIRST]
    _runner.write_page("softmax", *parts, *many.text(found[0]), *crossing.text(found[1]))


def main():
    parser = _runner.parser(__doc__, data=many.MANY, parts=["many", "crossing"])
    parser.add_argument("--only", nargs="+", default=[], choices=list(many.MODELS))
    parser.add_argument("--classes", nargs="+", type=int, default=crossing.CLASSES)
    options = parser.parse_args()
    if not options.report:
        if "many" in options.part:
            many.run(options.data, options.only)
        if "crossing" in options.part:
            crossing.run(options.classes)
    write_page()


if __name__ == "__main__":
    main()
