"""Looking into fitted models: why a label was predicted, and how good each label is.

The contributions to a prediction come from the method ``explain`` of the estimators, and through
pipelines and searches from :func:`sklearn_xc.explain`. The displays follow scikit-learn: they are
made by ``from_estimator`` or ``from_predictions`` (here also ``from_explanation``), draw by
``plot(ax=None)``, and keep the figure and axes in ``figure_`` and ``ax_``. They need matplotlib.
"""

from ..base._explanation import Explanation, Explanations
from ..base._label_counts import LabelReport
from ._confusion import LabelConfusionDisplay
from ._contributions import ContributionsDisplay
from ._coverage import CoverageDisplay
from ._label_frequency import LabelFrequencyDisplay
from ._label_report import label_report
from ._label_support import LabelSupportDisplay
from ._precision_at_k import PrecisionAtKDisplay
from ._reliability import ReliabilityDisplay
from ._topk_report import topk_report

__all__ = [
    "ContributionsDisplay",
    "CoverageDisplay",
    "Explanation",
    "Explanations",
    "LabelConfusionDisplay",
    "LabelFrequencyDisplay",
    "LabelReport",
    "LabelSupportDisplay",
    "PrecisionAtKDisplay",
    "ReliabilityDisplay",
    "label_report",
    "topk_report",
]
