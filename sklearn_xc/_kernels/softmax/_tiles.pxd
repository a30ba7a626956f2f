"""Scores of a mini-batch, tile by tile of the classes; see `_tiles.pyx`."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from sklearn_xc._kernels.softmax._mini_batch cimport Batch, Samples
from sklearn_xc._kernels.common._vector_ops cimport LANES

cdef enum:
    FOUR = 4
    TILE = 2048  # classes of the largest tile

# Feature-major: the weights of a feature for all classes lie side by side.
cdef struct Weights:
    float* W  # (n_features, n_places)
    float* b
    float* averages  # (n_features + 1, n_places), of squared gradients; NULL: plain steps
    int64_t* touched  # (n_features + 1,): the step that last touched a row of them
    float* scales  # (n_features,), factors of the rows of W in rounded steps; NULL: other steps
    const float* ridge  # of a feature, the share of the penalty that each of its samples carries
    int64_t n_features
    int64_t n_places
    float intercept  # squared: the constant feature of the intercepts; 0: none
    int noise  # 0: softmax; probit and logistic: see `_noise_row`
    double* mu  # (n_samples,), of the noise of each sample, with `noise`
    double* beta

cdef struct Scratch:
    float* scores  # (n_rows, n_places); in rounded steps (n_threads, n_places)
    double* highest  # (n_tiles, n_rows): highest score in the tile
    double* total  # (n_tiles, n_rows): sum of exp(score - highest)
    float* spare  # (n_threads, n_places), of steps with noise
    float* own  # (n_rows,): score of the sample's own class
    double* log_normaliser  # (n_rows,)
    float* mass  # (n_rows,): the gradient is that of a softmax times this, which is 1 for softmax
    # Of rounded steps: sample i keeps counts[i] classes from i * n_places on.
    int32_t* classes  # (n_rows, n_places): first those that a rounded step touches
    float* kept  # (n_rows, n_places): their rounded probabilities
    int32_t* counts  # (n_rows,): how many they are
    const float** streams  # (n_entries + 3 n_rows,): rows of W, four at a time
    float* factors  # of the streams
    int64_t* ends  # (n_rows,): where the streams of a sample end
    int32_t tile
    int32_t n_tiles

cdef struct Step:
    float rate
    float gain  # of the gradient, where steps are scaled by its average square
    int64_t number
    uint64_t seed


cdef int32_t tile_of(int64_t n_places) noexcept
cdef void list_streams(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch
) noexcept nogil
cdef void score_tile(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch, int32_t t
) noexcept nogil
cdef void plain_scores(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil
cdef void score_row(
    Samples samples, const Batch* batch, const Weights* weights, const Scratch* scratch,
    int32_t i, float* out
) noexcept nogil
cdef void normalise_row(
    const Batch* batch, const Scratch* scratch, int32_t i
) noexcept nogil
cdef float factor_of(
    const Batch* batch, const Scratch* scratch, int32_t t, int32_t i
) noexcept nogil


cdef inline float weight_of(
    Samples samples, const Batch* batch, const Scratch* scratch, int32_t i
) noexcept nogil:
    """What the gradient of a sample of the mini-batch is multiplied by."""
    cdef float mass = scratch.mass[i]
    return mass if samples.weight == NULL else mass * samples.weight[batch.rows[i]]


cdef inline int32_t first_tile(const Scratch* scratch, int thread, int n_threads) noexcept nogil:
    """Where the tiles of a thread begin, and those of the one before it end."""
    return <int32_t>(<int64_t>scratch.n_tiles * thread // n_threads)
