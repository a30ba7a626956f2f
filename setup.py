"""Builds the compiled kernels; everything else about the project stands in pyproject.toml.

Environment variables:

SKLEARN_XC_BUILD
    ``release`` (default), ``debug`` (bounds checks compiled in), ``asan`` (address sanitizer) or
    ``ubsan`` (undefined-behaviour sanitizer).
SKLEARN_XC_SIMD
    ``auto`` (default: hot loops are compiled for several instruction sets and the widest the
    machine has is chosen at run time), or one of ``baseline``, ``avx2``, ``avx512`` to allow
    nothing wider; the benchmark of the vector widths uses it. Of the release: other builds are
    ``baseline``.
"""

import os
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext, customize_compiler, new_compiler
from setuptools.errors import CCompilerError, ExecError

KERNELS = "sklearn_xc._kernels."
# One row a kernel: module -> the language that Cython translates it to, whether it uses OpenMP.
EXTENSIONS = {
    "common._pace": ("c", True),
    "common._sparse_rows": ("c", False),
    "common._whole_changes": ("c", False),
    "ppdsparse._active_set": ("c++", False),
    "ppdsparse._byte_search": ("c++", False),
    "ppdsparse._class_comparison": ("c", True),
    "ppdsparse._dual_descent": ("c++", False),
    "ppdsparse._listed_rows": ("c++", False),
    "ppdsparse._problem": ("c", False),
    "ppdsparse._pruned_search": ("c++", False),
    "ppdsparse._pruned_solver": ("c++", False),
    "ppdsparse._results": ("c++", False),
    "ppdsparse._solver": ("c++", False),
    "ppdsparse._violator_search": ("c++", False),
    "memoir._growing_weights": ("c", False),
    "memoir._steps": ("c", False),
    "ldgs._candidate_gradients": ("c", True),
    "ldgs._full_gradient": ("c", True),
    "ldgs._inverted_lists": ("c", True),
    "ldgs._losses": ("c", False),
    "ldgs._row_updates": ("c", True),
    "word_embedding._block_layout": ("c", True),
    "word_embedding._softmax": ("c", True),
    "word_embedding._vector_updates": ("c", True),
    "softmax._full_step": ("c", True),
    "softmax._noise_row": ("c", True),
    "softmax._rounded_step": ("c", True),
    "softmax._sampled_classes": ("c", True),
    "softmax._tiles": ("c", False),
    "augment_reduce._adaptive_step": ("c", True),
    "augment_reduce._bounds": ("c", True),
    "augment_reduce._noise": ("c", False),
    "augment_reduce._quadrature": ("c", True),
    "implicit_softmax._coefficients": ("c", True),
    "implicit_softmax._single_steps": ("c", False),
    "topk._candidate_scores": ("c", True),
    "topk._dense_rows": ("c", True),
    "topk._inverted_index": ("c", True),
    "mips._search": ("c", True),
    "neighbors._lists": ("c", False),
    "neighbors._row_search": ("c", True),
    "neighbors._votes": ("c", True),
    "stacking._trees": ("c", True),
    "model_selection._folds": ("c", False),
    "datasets._xc_format": ("c", False),
}

# What Cython would otherwise put into every kernel, its memoryviews above all: compiled once, which
# halves the time of a build and the size of a wheel.
SHARED = KERNELS + "common._cython"

# hnswlib is not among them: it has no wheels, and ours go to machines without a compiler.
REQUIRED = [
    "scikit-learn>=1.6",
    "numpy>=1.26",
    "scipy>=1.13",
    "joblib>=1.4",
    "threadpoolctl>=3.5",
]

# Addresses that pip and package indexes show, all within one that stands in the package.
HOME = runpy.run_path("sklearn_xc/_version.py")["HOME"]
URLS = {
    "Homepage": HOME,
    "Documentation": f"{HOME}/docs",
    "Source": HOME,
    "Issue tracker": f"{HOME}/issues",
    "Changelog": f"{HOME}/blob/main/CHANGELOG.md",
}

# The stable ABI: kernels compiled once serve Python 3.11 and every later one. An interpreter
# without the global lock has no stable ABI yet.
ABI = None if sysconfig.get_config_var("Py_GIL_DISABLED") else ("cp311", "0x030B0000")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

COMMON = [str(path) for path in Path("sklearn_xc/_kernels/common").glob("*.pxd")]
COMMON += [str(path) for path in Path("sklearn_xc/_kernels").glob("*/*.h")]

BUILDS = {
    "release": {
        "directives": {},
        # The first two of -fno- let loops with comparisons and square roots become vectors; values
        # stay. No fused multiply-add: every instruction set gives the same bits. Without debugging
        # information, which Python's own flags ask for, files are a fifth.
        "compile": ["-O3", "-fno-trapping-math", "-fno-math-errno", "-ffp-contract=off", "-g0"],
        "link": [],
    },
    # -g1: lines in traces, but no variables, which take a third of the time of a build.
    "debug": {
        "directives": {"boundscheck": True, "initializedcheck": True},
        "compile": ["-O1", "-g1"],
        "link": [],
    },
    "asan": {
        "directives": {},
        "compile": ["-O1", "-g1", "-fsanitize=address", "-fno-omit-frame-pointer"],
        "link": ["-fsanitize=address"],
    },
    "ubsan": {  # what is undefined in C ends the process, with the line and a reason
        "directives": {},
        "compile": ["-O1", "-g1", "-fsanitize=undefined", "-fno-sanitize-recover=undefined"],
        "link": ["-fsanitize=undefined"],
    },
}

# Instruction sets that target_clones compiles beside the baseline, narrowest first.
SIMD = {
    "baseline": [],
    "avx2": ["arch=x86-64-v3"],
    "avx512": ["arch=x86-64-v3", "arch=x86-64-v4"],
}

OPENMP_PROBE = r"""
#include <omp.h>
int main(void) {
    int n = 0;
    #pragma omp parallel reduction(+ : n)
    n += 1;
    return n >= 1 && n <= omp_get_max_threads() ? 0 : 1;
}
"""

# Flags of the compiler and of the linker that switch OpenMP on. Apple's clang brings no OpenMP
# library: `brew install libomp` and name its folders in CPPFLAGS and LDFLAGS.
OPENMP = {
    "linux": (["-fopenmp"], ["-fopenmp"]),
    "darwin": (["-Xpreprocessor", "-fopenmp"], ["-lomp"]),
    "win32": (["/openmp"], []),
}

CLONES_PROBE = r"""
__attribute__((target_clones(%s, "default"))) static inline void twice(float *x) {
    for (int i = 0; i < 16; i++) x[i] += x[i];
}
int main(int argc, char **argv) {
    float x[16];
    for (int i = 0; i < 16; i++) x[i] = argc;
    twice(x);
    return x[15] == 2 * argc ? 0 : 1;
}
"""


def runs(source, compile_flags=(), link_flags=()):
    """Whether a small C program compiles and links with these flags and then exits with 0.

    The compiler and CC, CPPFLAGS, CFLAGS and LDFLAGS are those of the extensions.
    """
    compiler = new_compiler()
    customize_compiler(compiler)
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder, "probe.c"), Path(folder, "probe")
        path.write_text(source)
        try:
            objects = compiler.compile(
                [str(path)], output_dir=folder, extra_postargs=list(compile_flags)
            )
            compiler.link_executable(objects, str(program), extra_postargs=list(link_flags))
            command = [str(program) + (compiler.exe_extension or "")]
            subprocess.run(command, check=True, timeout=60)
        except (OSError, CCompilerError, ExecError, subprocess.SubprocessError):
            return False
    return True


def openmp_flags():
    """The flags of compiler and linker that switch OpenMP on; empty where it does not work."""
    flags = OPENMP.get(sys.platform, OPENMP["linux"])
    if runs(OPENMP_PROBE, *flags):
        return flags
    print("sklearn-xc: OpenMP not found, the kernels will use one thread", file=sys.stderr)
    return [], []


def clones(build, simd):
    """The argument list of ``target_clones``, or None where it does not work or is not wanted."""
    if build != "release":  # bounds are the same; resolvers run before a sanitizer is up
        return None
    for name in ["avx512", "avx2"] if simd == "auto" else [simd]:
        arguments = ", ".join(f'"{target}"' for target in SIMD[name])
        if arguments and runs(CLONES_PROBE % arguments):
            return arguments
    return None


def chosen(variable, default, allowed):
    """The value of an environment variable, which must be one of those allowed."""
    value = os.environ.get(variable) or default
    if value not in allowed:
        raise SystemExit(f"{variable}={value!r}: allowed are {', '.join(allowed)}")
    return value


def extensions():
    """The kernels as they are written."""
    modules = [
        Extension(
            KERNELS + name,
            [f"sklearn_xc/_kernels/{name.replace('.', '/')}.pyx"],
            include_dirs=["sklearn_xc/_kernels/common", "sklearn_xc/_kernels"],
            language=language,
            depends=COMMON,
            py_limited_api=bool(ABI),
        )
        for name, (language, _) in EXTENSIONS.items()
    ]
    return [*modules, Extension(SHARED, [], py_limited_api=bool(ABI))]  # Cython writes the last


def translated(build, simd, folder):
    """The kernels in C or C++, with what the compiler is to be told; written to the folder."""
    options = BUILDS[build]
    if sys.platform == "win32":
        if build in ("asan", "ubsan"):
            raise SystemExit(f"SKLEARN_XC_BUILD={build!r} needs GCC or Clang")
        options = {**options, "compile": ["/O2"]}
    openmp_compile, openmp_link = openmp_flags()
    macros = [("Py_LIMITED_API", ABI[1])] if ABI else []
    if targets := clones(build, simd):
        macros.append(("XC_CLONE_TARGETS", targets))
        if "v4" in targets:
            macros.append(("XC_AVX512", "1"))  # for what no plain loop is compiled to
    with_openmp = {KERNELS + name for name, (_, parallel) in EXTENSIONS.items() if parallel}
    modules = extensions()
    for module in modules:
        parallel = module.name in with_openmp
        module.define_macros = macros
        module.extra_compile_args = options["compile"] + (openmp_compile if parallel else [])
        module.extra_link_args = options["link"] + (openmp_link if parallel else [])
    return cythonize(
        modules,
        nthreads=min(8, os.cpu_count() or 1),  # each takes some 200 MB
        shared_utility_qualified_name=SHARED,
        compiler_directives={**DIRECTIVES, **options["directives"]},
        build_dir=f"{folder}/cython",
    )


class BuildKernels(build_ext):
    """Asks the compiler what it can and has Cython translate, once kernels are to be built.

    Metadata and a source distribution, for which this file also runs, need neither.
    """

    def initialize_options(self):
        super().initialize_options()
        self.parallel = True  # under pip, options given to `setup` do not reach this class

    def build_extensions(self):
        by_name = {module.name: module for module in translated(BUILD, SIMD_LEVEL, FOLDER)}
        for module in self.extensions:  # setuptools has noted more of them
            vars(module).update(vars(by_name[module.name]))
        super().build_extensions()


BUILD = chosen("SKLEARN_XC_BUILD", "release", list(BUILDS))
SIMD_LEVEL = chosen("SKLEARN_XC_SIMD", "auto", ["auto", *SIMD])
# A folder a variant: setuptools takes any object file newer than its source for up to date.
FOLDER = f"build/{BUILD}-{SIMD_LEVEL}"

if __name__ == "__main__":  # where processes do not fork, those of Cython import this file
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildKernels},
        install_requires=REQUIRED,
        project_urls=URLS,
        options={
            "build": {"build_base": FOLDER},
            "bdist_wheel": {"py_limited_api": ABI[0]} if ABI else {},
        },
    )
