"""Cross-validation where labels are rare and many.

scikit-learn's splitters leave rare labels out of training, and its functions that cross-validate
refuse a sparse y. The ones here do neither; the splitters also serve as ``cv=`` of
:class:`~sklearn.model_selection.GridSearchCV` and everywhere else in scikit-learn.
"""

from ._cross_val_label_scores import cross_val_label_scores
from ._cross_val_topk import cross_val_topk
from ._learning_curve import TopKLearningCurveDisplay
from ._split import IterativeStratifiedKFold, RareLabelKFold, train_test_split
from ._validation import cross_val_score, cross_validate

__all__ = [
    "IterativeStratifiedKFold",
    "RareLabelKFold",
    "TopKLearningCurveDisplay",
    "cross_val_label_scores",
    "cross_val_score",
    "cross_val_topk",
    "cross_validate",
    "train_test_split",
]
