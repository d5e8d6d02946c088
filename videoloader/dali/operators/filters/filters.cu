// A window down the columns, then one along the rows: weighted sums, or the largest or smallest value.
//
// A block computes a tile. It filters the columns into a band of shared memory, in parts if the
// window is wide, and adds each part to the tile by filtering along the rows. A line is an array of
// numbers: the interleaved channels of its pixels. A row of the table has one or more passes, whose
// results are summed.
//
// Macros: SOURCE and TARGET, element types; CHANNELS; OPERATION; BORDER; ROW_BYTES.

struct Window {
    int first, taps;  // of its weights among the values; its length
    int anchor;       // the tap that lies on the pixel
};

struct Pass {
    Window down, across;
    float factor;
};

const int PASSES = 2;  // at most; filters_on_gpu.py

struct Row {
    View source, target;
    Pass passes[PASSES];
    int count;  // of passes
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of filters_on_gpu.py");

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

const int TILE = 32;  // rows and columns of a tile; filters_on_gpu.py
const int BAND = 224;  // numbers of a line in shared memory
const int STRIP = 4;   // values that a thread makes side by side; each reads what all of them need

enum { SUM, LARGEST, SMALLEST };  // OPERATION; filters_on_gpu.py

// Whether infinite values are possible: outside a window, a weight of 0 would turn them into NaN.
const bool IS_WEIGHTED = OPERATION == SUM, HAS_EDGES = !IS_WEIGHTED || SOURCE >= 2;

struct Scratch {
    float band[TILE][BAND + 1];  // odd lengths: rows begin in different banks
    float sums[TILE][TILE * CHANNELS + 1];
};

// The result of no value at all.
__device__ inline float nothing() {
    if (IS_WEIGHTED) return 0.0f;
    return __uint_as_float(OPERATION == LARGEST ? 0xff800000u : 0x7f800000u);  // infinite
}

__device__ inline float joined(float result, float weight, float value) {
    if (IS_WEIGHTED) return fmaf(weight, value, result);
    bool is_picked = OPERATION == LARGEST ? value > result : value < result;
    return is_picked || value != value ? value : result;  // NaN stays
}

__device__ inline float weight_at(const float* weights, int tap, int taps) {
    return IS_WEIGHTED && tap >= 0 && tap < taps ? weights[tap] : 0.0f;
}

__device__ inline bool is_in(int tap, int taps) {
    return !HAS_EDGES || (u32)tap < (u32)taps;
}

__device__ inline int ceil_divided(int value, int by) {
    return value > 0 ? (value + by - 1) / by : -(-value / by);
}

// Four numbers of a line from `number` on, which may lie outside the picture.
__device__ inline void numbers_at(const View& v, const From::Stored* line, int number, bool whole,
                                  float* numbers) {
    if (whole) {
        Four<From::Stored> four = *(const Four<From::Stored>*)(line + number);
        for (int j = 0; j < 4; j++) numbers[j] = From::decode(four.at[j]);
        return;
    }
    for (int j = 0; j < 4; j++) {
        int column = -ceil_divided(-(number + j), CHANNELS);  // rounded down
        int channel = number + j - column * CHANNELS, place = inside(column, v.sizes[2], BORDER);
        numbers[j] = place < 0 ? nothing()
                               : From::decode(line[place * v.strides[2] + channel * v.strides[3]]);
    }
}

// The columns from number `first` on, `groups` times four numbers, filtered into the band.
__device__ inline void filter_down(const View& v, const Window& w, const float* weights, int frame,
                                   int top, int first, int groups, Scratch& m) {
    int taps = w.taps, length = v.sizes[2] * CHANNELS;
    const From::Stored* picture = pixel_at<From::Stored>(v, frame, 0, 0);
    bool is_aligned = is_interleaved<CHANNELS>(v) &&
                      ((u64)picture | v.strides[1] * sizeof(From::Stored)) %
                              sizeof(Four<From::Stored>) == 0;
    for (int i = threadIdx.x; i < groups * (TILE / STRIP); i += blockDim.x) {
        int strip = STRIP * (i / groups), place = 4 * (i % groups), number = first + place;
        if (top + strip >= v.sizes[1]) continue;
        bool whole = is_aligned && number >= 0 && number + 4 <= length;
        float sums[STRIP][4], recent[STRIP] = {};
        for (int s = 0; s < STRIP; s++)
            for (int j = 0; j < 4; j++) sums[s][j] = nothing();
        for (int k = 0; k < taps + STRIP - 1; k++) {
            int row = inside(top + strip - w.anchor + k, v.sizes[1], BORDER);
            for (int s = STRIP - 1; s > 0; s--) recent[s] = recent[s - 1];
            recent[0] = weight_at(weights, k, taps);
            if (row < 0) continue;
            float numbers[4];
            numbers_at(v, picture + row * v.strides[1], number, whole, numbers);
            for (int s = 0; s < STRIP; s++)
                if (is_in(k - s, taps))
                    for (int j = 0; j < 4; j++)
                        sums[s][j] = joined(sums[s][j], recent[s], numbers[j]);
        }
        for (int s = 0; s < STRIP; s++)
            for (int j = 0; j < 4; j++) m.band[strip + s][place + j] = sums[s][j];
    }
}

// Adds to the tile what the band gives along the rows; it has the numbers from `first` to `end`.
__device__ inline void filter_across(const Window& w, const float* weights, float factor, int left,
                                     int rows, int columns, int first, int end, Scratch& m) {
    int taps = w.taps;
    for (int i = threadIdx.x; i < TILE * (TILE / STRIP); i += blockDim.x) {
        int row = i % TILE, column = STRIP * (i / TILE);
        if (row >= rows || column >= columns) continue;
        for (int c = 0; c < CHANNELS; c++) {
            int start = CHANNELS * (left + column - w.anchor) + c - first;  // of tap 0, in the band
            int low = max(0, ceil_divided(-start, CHANNELS));
            int high = min(taps + STRIP - 1, ceil_divided(end - first - start, CHANNELS));
            float sums[STRIP], recent[STRIP] = {};
            for (int s = 0; s < STRIP; s++) sums[s] = nothing();
            for (int s = 1; s < STRIP; s++) recent[s - 1] = weight_at(weights, low - s, taps);
            for (int k = low; k < high; k++) {
                for (int s = STRIP - 1; s > 0; s--) recent[s] = recent[s - 1];
                recent[0] = weight_at(weights, k, taps);
                float number = m.band[row][start + CHANNELS * k];
                for (int s = 0; s < STRIP; s++)
                    if (is_in(k - s, taps)) sums[s] = joined(sums[s], recent[s], number);
            }
            for (int s = 0; s < STRIP; s++) {
                float& result = m.sums[row][CHANNELS * (column + s) + c];
                result = joined(result, factor, sums[s]);
            }
        }
    }
}

KERNEL(separable, 256, 3) {
    __shared__ Row r;
    __shared__ Scratch m;
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    int height = r.source.sizes[1], width = r.source.sizes[2];
    int tall = (height + TILE - 1) / TILE, wide = (width + TILE - 1) / TILE;
    for (int tile = blockIdx.x; tile < r.source.sizes[0] * tall * wide; tile += gridDim.x) {
        int frame = tile / (tall * wide), rest = tile - frame * (tall * wide);
        int top = rest / wide * TILE, left = rest % wide * TILE;
        int rows_here = min(TILE, height - top), columns = min(TILE, width - left);
        for (int i = threadIdx.x; i < TILE * TILE * CHANNELS; i += blockDim.x)
            m.sums[i / (TILE * CHANNELS)][i % (TILE * CHANNELS)] = nothing();
        for (int number = 0; number < r.count; number++) {
            const Pass& p = r.passes[number];
            const float* down = (const float*)values + p.down.first;
            const float* across = (const float*)values + p.across.first;
            int end = CHANNELS * (left + columns + p.across.taps - 1 - p.across.anchor);
            for (int first = CHANNELS * (left - p.across.anchor) & ~3; first < end; first += BAND) {
                int count = min(BAND, end - first);
                filter_down(r.source, p.down, down, frame, top, first, (count + 3) / 4, m);
                __syncthreads();
                filter_across(p.across, across, p.factor, left, rows_here, columns, first,
                              first + count, m);
                __syncthreads();
            }
        }
        for (int i = threadIdx.x; i < TILE * (TILE / 4); i += blockDim.x) {
            int row = i / (TILE / 4), column = 4 * (i % (TILE / 4));
            if (row >= rows_here || column >= columns) continue;
            To::Stored pixels[4 * CHANNELS];
            for (int k = 0; k < 4 * CHANNELS; k++)
                pixels[k] = To::encode(m.sums[row][CHANNELS * column + k]);
            store<To::Stored, CHANNELS>(
                r.target, {frame, top + row, left + column, min(4, columns - column)}, pixels);
        }
        __syncthreads();
    }
}
