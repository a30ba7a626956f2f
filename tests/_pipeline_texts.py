"""Texts and names that pipelines are fitted on, and the model at their end."""

import numpy as np

from sklearn_xc import PPDSparseClassifier

DOCUMENTS = [f"word{i % 7} word{i % 11} and word{i % 13} text" for i in range(120)]
NAMES = np.array([f"label {i % 7}" for i in range(120)])
PPDSPARSE = PPDSparseClassifier(random_state=0)
