// Filters on the neighbourhood of a pixel: sums with arbitrary weights, medians.
//
// Macros: SOURCE and TARGET, element types; CHANNELS; BORDER; WIDTH and HEIGHT of the windows of
// medians if these are small and alike, else 0; ROW_BYTES.

struct Row {
    View source, target;
    u64 weights, fill;  // addresses: of rows of float one behind the other; of a constant border
    int height, width;  // of the window
    int y, x;           // its value that lies on the pixel
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of neighborhoods_on_gpu.py");

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

// Whether infinite values are possible: outside a window, a weight of 0 would turn them into NaN.
const bool HAS_INFINITY = SOURCE >= 2 || BORDER == CONSTANT;

__device__ inline From::Stored stored_at(const View& v, const From::Stored* line, int column, int c) {
    return line[column * v.strides[2] + c * v.strides[3]];
}

// Four pixels side by side: each value that is read goes into all their sums.
__device__ inline void correlate_group(const Row& r, Group group, float fill, float* sums) {
    const View& v = r.source;
    const float* weights = (const float*)r.weights;
    for (int i = 0; i < r.height; i++, weights += r.width) {
        int row = inside(group.row + i - r.y, v.sizes[1], BORDER);
        const From::Stored* line = pixel_at<From::Stored>(v, group.frame, max(row, 0), 0);
        float recent[4] = {};
        for (int k = 0; k < r.width + 3; k++) {
            for (int j = 3; j > 0; j--) recent[j] = recent[j - 1];
            recent[0] = k < r.width ? weights[k] : 0.0f;
            int column = inside(group.column + k - r.x, v.sizes[2], BORDER);
#pragma unroll
            for (int c = 0; c < CHANNELS; c++) {
                bool is_outside = row < 0 || column < 0;
                float value = is_outside ? fill : From::decode(stored_at(v, line, column, c));
#pragma unroll
                for (int j = 0; j < 4; j++)
                    if (!HAS_INFINITY || (u32)(k - j) < (u32)r.width)
                        sums[CHANNELS * j + c] = fmaf(recent[j], value, sums[CHANNELS * j + c]);
            }
        }
    }
}

KERNEL(correlate, 256) {
    Row r = rows[blockIdx.y];
    float fill = r.fill ? *(const float*)r.fill : 0.0f;
    Groups groups = groups_of(r.target);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        float sums[4 * CHANNELS] = {};
        correlate_group(r, group, fill, sums);
        To::Stored pixels[4 * CHANNELS];
        for (int k = 0; k < 4 * CHANNELS; k++) pixels[k] = To::encode(sums[k]);
        store<To::Stored, CHANNELS>(r.target, group, pixels);
    }
}

// ---- medians: numbers are compared as integers, their keys

__device__ inline u32 bits_of(u16 value) { return value; }
__device__ inline u32 bits_of(u8 value) { return value; }
__device__ inline u32 bits_of(float value) { return __float_as_uint(value); }

const int BITS = SOURCE == 0 ? 8 : SOURCE == 3 ? 32 : 16;
const u32 SIGN = SOURCE < 2 ? 0 : 1u << (BITS - 1);
const u32 ALL = SIGN | (SIGN - 1);

__device__ inline u32 key_of(From::Stored value) {
    u32 bits = bits_of(value);
    if (!SIGN) return bits;
    return bits & SIGN ? ~bits & ALL : bits | SIGN;
}

__device__ inline From::Stored value_of(u32 key) {
    u32 bits = !SIGN ? key : key & SIGN ? key & ~SIGN : ~key & ALL;
#if SOURCE == 3
    return __uint_as_float(bits);
#else
    return (From::Stored)bits;
#endif
}

__device__ inline bool is_nan(From::Stored value) {
    float number = From::decode(value);
    return number != number;
}

// Calls `visit` with each value of the window of a number.
template <typename Visit>
__device__ inline void each_value(const Row& r, Group pixel, int c, Visit visit) {
    const View& v = r.source;
    int height = HEIGHT ? HEIGHT : r.height, width = WIDTH ? WIDTH : r.width;
#pragma unroll
    for (int i = 0; i < height; i++) {
        int row = inside(pixel.row + i - height / 2, v.sizes[1], REPLICATE);
        const From::Stored* line = pixel_at<From::Stored>(v, pixel.frame, row, 0);
#pragma unroll
        for (int k = 0; k < width; k++) {
            int column = inside(pixel.column + k - width / 2, v.sizes[2], REPLICATE);
            visit(i * width + k, stored_at(v, line, column, c));
        }
    }
}

__device__ inline From::Stored median_of(const Row& r, Group pixel, int c) {
    int count = HEIGHT ? HEIGHT * WIDTH : r.height * r.width;
    From::Stored bad = From::Stored();
    bool has_nan = false;
#if HEIGHT
    u32 keys[HEIGHT * WIDTH];
#endif
    if (HEIGHT || SIGN)
        each_value(r, pixel, c, [&](int place, From::Stored value) {
#if HEIGHT
            keys[place] = key_of(value);
#endif
            if (SIGN && is_nan(value)) bad = value, has_nan = true;
        });
    if (has_nan) return bad;
    // The largest key that no more than half of the others lie below.
    u32 median = 0;
    for (int bit = BITS - 1; bit >= 0; bit--) {
        u32 tried = median | 1u << bit;
        int below = 0;
#if HEIGHT
#pragma unroll
        for (int k = 0; k < HEIGHT * WIDTH; k++) below += keys[k] < tried;
#else
        each_value(r, pixel, c, [&](int, From::Stored value) { below += key_of(value) < tried; });
#endif
        if (below <= count / 2) median = tried;
    }
    return value_of(median);
}

KERNEL(median, 256) {
    Row r = rows[blockIdx.y];
    Groups groups = groups_of(r.target);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        From::Stored pixels[4 * CHANNELS] = {};
        for (int j = 0; j < group.count; j++)
            for (int c = 0; c < CHANNELS; c++)
                pixels[CHANNELS * j + c] =
                    median_of(r, {group.frame, group.row, group.column + j, 1}, c);
        store<From::Stored, CHANNELS>(r.target, group, pixels);
    }
}
