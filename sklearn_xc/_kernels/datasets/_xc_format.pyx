"""Parser of the rows of the XC text format: bytes in, CSR arrays out.

A row is ``l1,l2,... f:v f:v ...`` and ends with a newline. Each value becomes the float32 nearest
to the decimal number.

Invariant: the caller hands over whole rows only, so every byte that is looked at has a newline at
or after it. Each loop below stops there, which is why none of them compares its position with the
length of the text. The caller has counted colons, commas and newlines: no output is too short.
"""

from libc.float cimport FLT_MAX, FLT_MIN
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

cpdef enum Problem:
    NONE = 0
    LABEL = 1  # not a list of whole numbers
    LABEL_RANGE = 2
    INDEX = 3  # the feature is not a whole number
    INDEX_RANGE = 4
    COLON = 5  # a feature without ":value"
    VALUE = 6  # not a decimal number
    TOO_LONG = 7  # a number of more than LONGEST_NUMBER bytes

cdef enum:
    LONGEST_NUMBER = 100
    # Digits after these change a value by less than 1e-18 of it.
    KEPT_DIGITS_BELOW = 1_000_000_000_000_000_000
    # Largest exponent of ten that is read here, and the largest one that a double holds exactly.
    LARGEST_EXPONENT = 66
    EXACT_EXPONENT = 22

# Powers of ten up to 10^22, each exact in a double, since 5^22 < 2^53.
cdef double[23] TEN_TO
cdef int _power
TEN_TO[0] = 1.0
for _power in range(EXACT_EXPONENT):
    TEN_TO[_power + 1] = 10.0 * TEN_TO[_power]


cdef inline bint is_digit(unsigned char byte) noexcept nogil:
    return c'0' <= byte <= c'9'


cdef inline bint ends_token(unsigned char byte) noexcept nogil:
    return byte == c' ' or byte == c'\n' or byte == c'\t' or byte == c'\r'


cdef inline int read_index(
    const unsigned char[::1] text, Py_ssize_t* at, int64_t limit, int32_t* index
) noexcept nogil:
    """Read a whole number below ``limit``; 0 if there, 1 if not a number, 2 if out of range."""
    cdef Py_ssize_t p = at[0]
    cdef int64_t number = 0
    while is_digit(text[p]):
        # Once out of range it stays: limit <= 2^31, so that no product comes near 2^63.
        if number < limit:
            number = 10 * number + (text[p] - c'0')
        p += 1
    if p == at[0]:
        return 1
    at[0] = p
    index[0] = <int32_t> number
    return 2 if number >= limit else 0


cdef inline float to_float32(uint64_t digits, int64_t exponent) noexcept nogil:
    """The float32 nearest to digits * 10^exponent, or NaN where that takes exact arithmetic."""
    cdef double value = <double> digits
    cdef uint64_t bits
    cdef int64_t from_midpoint
    if digits == 0:
        return 0.0
    if exponent < -LARGEST_EXPONENT or exponent > LARGEST_EXPONENT:
        return NAN
    # At most three products or quotients with an exact power, and one conversion of the digits:
    # each rounds by half a unit in the last place, so that the double is off by two or three.
    while exponent > EXACT_EXPONENT:
        value *= TEN_TO[EXACT_EXPONENT]
        exponent -= EXACT_EXPONENT
    while exponent < -EXACT_EXPONENT:
        value /= TEN_TO[EXACT_EXPONENT]
        exponent += EXACT_EXPONENT
    if exponent >= 0:
        value *= TEN_TO[exponent]
    else:
        value /= TEN_TO[-exponent]
    # subnormal float32 have their midpoints elsewhere
    if value < FLT_MIN or value > FLT_MAX:
        return NAN
    memcpy(&bits, &value, sizeof(bits))
    # A double has 53 bits, a float32 24: it leaves out 29, which are 2^28 midway between two of
    # them. More than 16 units from there, well beyond the error, the nearest is beyond doubt.
    from_midpoint = <int64_t> (bits & 0x1FFFFFFF) - 0x10000000
    if -16 <= from_midpoint <= 16:
        return NAN
    return <float> value


cdef inline Problem read_value(
    const unsigned char[::1] text, Py_ssize_t* at, float* value
) noexcept nogil:
    """Read a decimal number, with a fraction or an exponent or both.

    It is digits * 10^exponent, the sign apart; `first` is where digits must have begun.
    """
    cdef Py_ssize_t p = at[0], first
    cdef uint64_t digits = 0
    cdef int64_t exponent = 0, written = 0
    cdef bint negative = text[p] == c'-', down
    # signs, a number without digits before the point, or without any after it: as Python's float
    if negative or text[p] == c'+':
        p += 1
    first = p
    while is_digit(text[p]):
        # below 10^18 another digit fits into 64 bits; later ones before the point only count
        if digits < KEPT_DIGITS_BELOW:
            digits = 10 * digits + (text[p] - c'0')
        else:
            exponent += 1
        p += 1
    if text[p] == c'.':
        # the point is no digit: ``p == first`` below still means that there was none
        first += 1
        p += 1
        while is_digit(text[p]):
            if digits < KEPT_DIGITS_BELOW:
                digits = 10 * digits + (text[p] - c'0')
                exponent -= 1
            p += 1
    if p == first:
        return VALUE
    if text[p] == c'e' or text[p] == c'E':
        p += 1
        down = text[p] == c'-'
        if down or text[p] == c'+':
            p += 1
        first = p
        while is_digit(text[p]):
            # far beyond any float32: more digits do not change the result, and cannot overflow
            if written < 10_000:
                written = 10 * written + (text[p] - c'0')
            p += 1
        if p == first:
            return VALUE
        exponent += -written if down else written
    if not ends_token(text[p]):
        return VALUE
    if p - at[0] > LONGEST_NUMBER:
        return TOO_LONG
    at[0] = p
    value[0] = to_float32(digits, exponent)
    if negative:
        value[0] = -value[0]
    return NONE


cdef Problem read_row(
    const unsigned char[::1] text, Py_ssize_t* at, int64_t n_features, int64_t n_classes,
    int32_t[::1] features, float[::1] values, Py_ssize_t* n_values,
    int32_t[::1] labels, Py_ssize_t* n_labels,
    int64_t[::1] inexact, Py_ssize_t* n_inexact,
) noexcept nogil:
    """Read the row at ``at`` and move on to the next, or stop at the start of a faulty token."""
    cdef Py_ssize_t p = at[0], value_at
    cdef int fault
    cdef int32_t index = 0
    cdef float value = 0
    cdef Problem problem
    # A row without labels begins with a blank. Each label but the last of a row has a comma behind
    # it: `labels` is as long as commas and rows together.
    if not ends_token(text[p]):
        while True:
            fault = read_index(text, &p, n_classes, &index)
            if fault != 0:
                return LABEL if fault == 1 else LABEL_RANGE
            labels[n_labels[0]] = index
            n_labels[0] += 1
            if text[p] != c',':
                break
            p += 1
        if not ends_token(text[p]):
            return LABEL
    while True:
        while text[p] == c' ' or text[p] == c'\t':
            p += 1
        at[0] = p
        # a newline follows at or after this byte, so that the next one is still inside
        if text[p] == c'\r' and text[p + 1] == c'\n':
            p += 1
        if text[p] == c'\n':
            at[0] = p + 1
            return NONE
        fault = read_index(text, &p, n_features, &index)
        # the colon is looked for before the range, since a number without one is no feature
        if fault == 1:
            return INDEX
        if text[p] != c':':
            return COLON if ends_token(text[p]) else INDEX
        if fault == 2:
            return INDEX_RANGE
        # blanks are not skipped here: a value stands right behind its colon
        p += 1
        value_at = p
        problem = read_value(text, &p, &value)
        if problem != NONE:
            return problem
        # NaN: the caller rounds this value, by its text
        if value != value:
            inexact[n_inexact[0]] = value_at
            n_inexact[0] += 1
        features[n_values[0]] = index
        values[n_values[0]] = value
        n_values[0] += 1


def parse_rows(
    const unsigned char[::1] text,  # IN, whole rows: the last byte is a newline
    int64_t n_features,  # IN, D of the header
    int64_t n_classes,  # IN, K of the header
    int64_t[::1] feature_ptr,  # OUT, one more than there are newlines
    int32_t[::1] features,  # OUT, as many as there are colons
    float[::1] values,  # OUT, as many as there are colons
    int64_t[::1] label_ptr,  # OUT, one more than there are newlines
    int32_t[::1] labels,  # OUT, as many as there are commas and newlines together
    int64_t[::1] inexact,  # OUT, as many as there are colons
):
    """Parse every row of ``text``.

    Returns ``(n_rows, n_inexact, problem, at)``. If ``problem`` is not ``NONE`` parsing stopped in
    row ``n_rows`` at the token that starts at byte ``at``. The values that are NaN are those whose
    rounding takes exact arithmetic; ``inexact[:n_inexact]`` says where their text starts.
    """
    cdef Py_ssize_t at = 0, row = 0, n_values = 0, n_labels = 0, n_inexact = 0
    cdef Problem problem = NONE
    with nogil:
        feature_ptr[0] = 0
        label_ptr[0] = 0
        while at < text.shape[0]:
            problem = read_row(
                text, &at, n_features, n_classes, features, values, &n_values,
                labels, &n_labels, inexact, &n_inexact,
            )
            # rows before a faulty one stay parsed; the pointers end with them
            if problem != NONE:
                break
            row += 1
            feature_ptr[row] = n_values
            label_ptr[row] = n_labels
    return row, n_inexact, problem, at
