"""Parameters of large estimators in groups with links to pages; an extension of Sphinx.

numpydoc has made a definition list of them by then, an entry a parameter. Entries keep their order
within a group, and a group that is empty is left out.
"""

import re

MANY = 15  # parameters that need no groups
MODEL = "Model"  # parameters that no other group names
GROUPS = {  # heading -> names of its parameters, and the pages that explain them
    MODEL: ("", ("/guide/choosing", "/guide/tuning")),
    "Training": (
        "max_iter tol n_select sparsification delta feature_threshold pruning solver learning_rate "
        "decay batch_size reduction warmup eta0 eta_step shuffle average init_scale local_steps "
        "n_parts n_init_epochs n_negatives compute_loss early_stopping validation_fraction "
        "n_iter_no_change warm_start",
        ("/estimators/index", "/guide/growing"),
    ),
    "Search for classes": (
        "search search_params gradient n_chunks n_message_passes query_size query_threshold index "
        "tau unretrieved sampling n_sampled_classes n_frequent",
        ("/estimators/mips",),
    ),
    "Labels": (
        "class_weight label_names graded label_feature_weight",
        ("/howto/rare_labels", "/howto/label_names", "/guide/restrictions"),
    ),
    "Probabilities": ("calibration calibration_cv", ("/guide/probabilities",)),
    "Threads, randomness and files": (
        "n_jobs random_state verbose checkpoint keep_checkpoint scratch",
        ("/reference/threads", "/guide/large_data"),
    ),
}
GROUP_OF = {name: group for group, (names, _) in GROUPS.items() for name in names.split()}
ENTRY = re.compile(r"    \*\*(\w+)\*\* : ")


def in_groups(entries):
    """Return the lines of the entries, a list of lines each, under the headings of their groups."""
    for group, (_, pages) in GROUPS.items():
        found = [e for e in entries if GROUP_OF.get(ENTRY.match(e[0])[1], MODEL) == group]
        if found:
            links = ", ".join(f":doc:`{page}`" for page in pages)
            yield from ["", f"    .. rubric:: {group}", "", f"    See {links}.", ""]
            for entry in found:
                yield from entry


def group(app, what, name, value, options, lines):
    """Put the parameters of a class into groups where they are many."""
    starts = [i for i, line in enumerate(lines) if ENTRY.match(line)]
    end = next((i for i, line in enumerate(lines) if line == ":Attributes:"), None)
    starts = [i for i in starts if end is not None and i < end]
    if what != "class" or len(starts) <= MANY:
        return
    entries = [lines[i:j] for i, j in zip(starts, [*starts[1:], end], strict=True)]
    lines[starts[0] : end] = [*in_groups(entries), ""]


def setup(app):
    app.connect("autodoc-process-docstring", group, priority=600)  # numpydoc's is 500
    return {"parallel_read_safe": True}
