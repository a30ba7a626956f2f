"""The gain of wide vectors: the package built for three instruction sets, timed side by side.

    python benchmarks/simd.py [--data delicious yso_finna_en_small] [--repeats 3]

Each build (SKLEARN_XC_SIMD, see setup.py) goes into a folder of its own, build/simd-<name>, and is
timed in a process of its own. Writes measurements/simd.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

import _common
import _runner

WIDTHS = ["baseline", "avx2", "avx512"]


def build(width):
    """The folder in which the package stands, built for nothing wider than `width`."""
    folder = _common.ROOT / "build" / f"simd-{width}"
    shutil.rmtree(folder, ignore_errors=True)
    step = [sys.executable, "setup.py", "--quiet", "build", "--build-lib", folder]
    env = os.environ | {"SKLEARN_XC_SIMD": width}
    print(f"building for {width}", flush=True)
    subprocess.run(step, cwd=_common.ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    return folder


def measure(data, repeats):
    """In the child: the best times of training and of predicting the test part, and where from."""
    import sklearn_xc

    split = _common.load(data)
    model = sklearn_xc.PPDSparseClassifier(n_jobs=2, random_state=0)
    train = [_common.timed(model.fit, split.X, split.Y)[0] for _ in range(repeats + 1)]
    predict = [_common.timed(model.predict_topk, split.X_test, 5)[0] for _ in range(repeats + 1)]
    per_row = 1e3 * min(predict[1:]) / split.X_test.shape[0]
    return {"package": sklearn_xc.__file__, "train": min(train[1:]), "predict": per_row}


def run_child(lib, data, repeats):
    call = [sys.executable, __file__, "--data", data, "--repeats", str(repeats), "--child"]
    env = os.environ | {"PYTHONPATH": str(lib), "SKLEARN_XC_DATA": str(_common.DATA.resolve())}
    outcome = subprocess.run(call, env=env, check=True, capture_output=True, text=True)
    result = json.loads(outcome.stdout.splitlines()[-1])
    if not result["package"].startswith(str(lib)):
        raise SystemExit(f"measured {result['package']} instead of the build in {lib}")
    return result


def main():
    sets = ["delicious", "yso_finna_en_small"]
    parser = _runner.parser(__doc__, data=(), data_default=sets)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.data[0], options.repeats)))
        return
    if not options.report:
        measure_widths(options)
    kept = _runner.kept("simd").get("rows", {})
    header = ["data, widest instructions", "train s", "gain", "predict ms a row", "gain"]
    text = ["# What wide vectors are worth", _runner.source("simd")]
    text.append("`baseline` is what every x86-64 processor has (SSE2). Two threads.")
    text.append(_common.table(header, [row for rows in kept.values() for row in rows]))
    _runner.write_page("simd", "\n\n".join(text))


def measure_widths(options):
    for data in options.data:
        _common.prepare(data)
    libs = {width: build(width) for width in WIDTHS}
    for data in options.data:
        rows = []
        results = {w: run_child(lib, data, options.repeats) for w, lib in libs.items()}
        for width, r in results.items():
            gains = [results["baseline"][what] / r[what] for what in ("train", "predict")]
            cells = [_common.figure(r["train"]), f"{gains[0]:.2f}"]
            cells += [_common.figure(r["predict"]), f"{gains[1]:.2f}"]
            rows.append([f"{data}, {width}", *cells])
            print(*rows[-1], flush=True)
        _runner.keep("simd", "rows", data, rows)


if __name__ == "__main__":
    main()
