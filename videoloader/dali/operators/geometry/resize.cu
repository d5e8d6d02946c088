// Resizes pictures: a filter along the columns, then one along the rows, in one pass.
//
// `taps` computes the source pixels and weights of each output, for `resize` and `nearest`. It works
// in float64 and rounds each weight once, as resampling.py does.
//
// A block of `resize` computes a tile. It filters the columns into a band of shared memory, in
// parts if there are many, and adds each part to the tile by filtering along the rows. So the source
// is read once, and intermediate values stay in the block.
//
// Macros: SOURCE and TARGET, element types; CHANNELS; ROW_BYTES. Several channels lie side by side
// in the source.

// How a dimension is resized: `Axis` of resampling.py.
struct Axis {
    double start, end;   // the part of the source that becomes the output, from edge to edge
    u64 table;           // `Taps` of each output, then their weights
    int size;            // outputs
    int begin, count;    // those of them that are wanted
    int side;            // pixels of the source
    int taps;            // of an output, before those outside are added to the border's
    int filter, antialias, mirrored;
};

struct Row {
    View source, target;
    Axis down, across;
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of resize_on_gpu.py");

enum { NEAREST, TRIANGLE, CUBIC, LANCZOS, GAUSSIAN };  // filter; resize_on_gpu.py

struct alignas(16) Taps {
    int first, count;  // source pixels of an output
    int begin, end;    // bounds of them; outputs side by side have both in order
};

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

const int TILE = 32;   // rows and columns of a tile; resize_on_gpu.py
const int BAND = 216;  // numbers of a line in shared memory: whole pixels, and whole groups of four
static_assert(BAND % 4 == 0 && BAND % CHANNELS == 0, "parts of a line begin at a group, a pixel");

struct Scratch {
    float band[TILE][BAND + 1];  // odd lengths: rows begin in different banks
    float sums[TILE][TILE * CHANNELS + 1];
};

// ---- tables

__device__ inline Taps* taps_of(const Axis& a) { return (Taps*)a.table; }

__device__ inline float* weights_of(const Axis& a, int output) {
    int most = (min(a.taps, a.side) + 3) / 4 * 4;
    return (float*)(a.table + (u64)a.count * sizeof(Taps)) + (i64)output * most;
}

__device__ inline double sinc(double x) {
    double turn = 3.141592653589793 * (x == 0.0 ? 1e-20 : x);
    return sin(turn) / turn;
}

const double CLOSE = 1e-9;  // distances that are equal but for rounding; resampling.py

__device__ inline double weight_at(int filter, double distance) {
    double x = fabs(distance);
    if (filter == TRIANGLE) return x < 1.0 ? 1.0 - x : 0.0;
    if (filter == CUBIC) {
        if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1.0;
        return x < 2.0 ? ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0 : 0.0;
    }
    if (filter == LANCZOS) return x < 3.0 ? sinc(distance) * sinc(distance / 3.0) : 0.0;
    // The pixel at distance -1 is inside, the one at distance 1 is not.
    if (!(distance > -1.0 - CLOSE && distance < 1.0 - CLOSE)) return 0.0;
    return exp(-(2.0 * distance) * (2.0 * distance));
}

// The pixel under the center of an output, in float32 as DALI adds centers up: along a row each is
// computed from its number, along a column the scale is added step by step.
__device__ inline int nearest_pixel(const Axis& a, int output, bool is_row) {
    double step = (a.end - a.start) / a.size;
    float low = (float)(a.start + a.begin * step);
    float high = (float)(a.start + (a.begin + a.count) * step);
    if (a.begin == 0 && a.count == a.size) high = (float)a.end;
    if (a.mirrored) {
        float other = low;
        low = high;
        high = other;
    }
    float scale = (high - low) / (float)a.count;
    float center = low + ((is_row ? (float)output : 0.0f) + 0.5f) * scale;
    if (!is_row)
        for (int k = 0; k < output; k++) center += scale;
    return (int)fminf(fmaxf(floorf(center), 0.0f), (float)(a.side - 1));
}

// Weights of the places of a line, in their order; zeros in front and behind are left out.
struct Weights {
    float* to;
    int first, count;

    __device__ void add(int place, double weight) {
        float value = (float)weight;
        if (count == 0) first = place;
        to[place - first] = value;
        if (value != 0.0f) count = place - first + 1;
    }
};

__device__ inline void write_taps(const Axis& a, int output, bool is_row) {
    Taps& taps = taps_of(a)[output];
    float* weights = weights_of(a, output);
    if (a.filter == NEAREST) {
        int pixel = nearest_pixel(a, output, is_row);
        taps = Taps{pixel, 1, pixel, pixel + 1};
        weights[0] = 1.0f;
        return;
    }
    int number = a.begin + (a.mirrored ? a.count - 1 - output : output), last = a.side - 1;
    double radius = a.filter == LANCZOS ? 3.0 : a.filter == CUBIC ? 2.0 : 1.0;
    double scale = fabs((a.end - a.start) / a.size);
    double width = a.antialias && scale > 1.0 ? scale : 1.0;
    double center = a.start + (number + 0.5) * (a.end - a.start) / a.size - 0.5;
    double first = ceil(center - radius * width - CLOSE), sum = 0.0;
    for (int k = 0; k < a.taps; k++) sum += weight_at(a.filter, (first + k - center) / width);
    // Pixels outside are replaced by the one at the border, which gets the sum of their weights.
    Weights made = {weights, 0, 0};
    int begin = (int)fmin(fmax(first, 0.0), (double)last), place = begin;
    double held = 0.0;
    for (int k = 0; k < a.taps; k++) {
        int next = (int)fmin(fmax(first + k, 0.0), (double)last);
        if (next != place) {
            made.add(place, held);
            held = 0.0;
            place = next;
        }
        held += weight_at(a.filter, (first + k - center) / width) / sum;
    }
    made.add(place, held);
    taps = Taps{made.first, made.count, begin, place + 1};
}

KERNEL(taps, 256) {
    const Row& r = rows[blockIdx.y];
    int tall = r.down.count, all = tall + r.across.count;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        bool is_row = i >= tall;
        write_taps(is_row ? r.across : r.down, is_row ? i - tall : i, is_row);
    }
}

// ---- filters

// Four numbers of a line, of which `count` are inside.
template <bool WHOLE>
__device__ inline void add_numbers(const From::Stored* from, i64 step, int count, float weight,
                                   float* sums) {
    if (WHOLE) {
        Four<From::Stored> four = *(const Four<From::Stored>*)from;
        for (int j = 0; j < 4; j++) sums[j] = fmaf(weight, From::decode(four.at[j]), sums[j]);
    } else {
        for (int j = 0; j < 4; j++)
            if (j < count) sums[j] = fmaf(weight, From::decode(from[j * step]), sums[j]);
    }
}

template <bool WHOLE>
__device__ inline void add_lines(const From::Stored* from, i64 line, i64 step, int count, int taps,
                                 const float* weights, float* sums) {
    for (int k = 0; k < taps; k += 4, from += 4 * line) {
        Four<float> four = *(const Four<float>*)(weights + k);
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (k + j < taps) add_numbers<WHOLE>(from + j * line, step, count, four.at[j], sums);
    }
}

// Some rows of outputs from `top` on, of the columns from `left` on, filtered into the band.
__device__ inline void filter_down(const Row& r, int frame, int top, int rows, int left, int columns,
                                   Scratch& m) {
    const View& v = r.source;
    i64 step = CHANNELS == 1 ? v.strides[2] : 1;
    const From::Stored* picture = pixel_at<From::Stored>(v, frame, 0, 0) + left * CHANNELS * step;
    bool is_aligned = step == 1 && ((u64)picture | v.strides[1] * sizeof(From::Stored)) %
                                           sizeof(Four<From::Stored>) == 0;
    int numbers = CHANNELS * columns, groups = (numbers + 3) / 4;
    for (int i = threadIdx.x; i < groups * rows; i += blockDim.x) {
        int row = i / groups, place = 4 * (i - row * groups), count = min(4, numbers - place);
        Taps taps = taps_of(r.down)[top + row];
        const float* weights = weights_of(r.down, top + row);
        const From::Stored* from = picture + taps.first * v.strides[1] + place * step;
        float sums[4] = {};
        if (is_aligned && count == 4)
            add_lines<true>(from, v.strides[1], step, count, taps.count, weights, sums);
        else
            add_lines<false>(from, v.strides[1], step, count, taps.count, weights, sums);
        for (int j = 0; j < 4; j++) m.band[row][place + j] = sums[j];
    }
}

// Adds to the tile what the band gives along the rows; it has the columns from `first` to `end`.
__device__ inline void filter_across(const Row& r, int left, int rows, int columns, int first,
                                     int end, Scratch& m) {
    for (int i = threadIdx.x; i < TILE * columns; i += blockDim.x) {
        int column = i / TILE, row = i - column * TILE;
        if (row >= rows) continue;
        Taps taps = taps_of(r.across)[left + column];
        const float* weights = weights_of(r.across, left + column) - taps.first;
        int high = min(taps.first + taps.count, end);
        float sums[CHANNELS] = {};
        for (int k = max(taps.first, first); k < high; k++) {
            float weight = weights[k];
            const float* pixel = &m.band[row][CHANNELS * (k - first)];
            for (int c = 0; c < CHANNELS; c++) sums[c] = fmaf(weight, pixel[c], sums[c]);
        }
        for (int c = 0; c < CHANNELS; c++) m.sums[row][CHANNELS * column + c] += sums[c];
    }
}

KERNEL(resize, 256, 4) {
    __shared__ Row r;
    __shared__ Scratch m;
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    int height = r.target.sizes[1], width = r.target.sizes[2];
    int tall = (height + TILE - 1) / TILE, wide = (width + TILE - 1) / TILE;
    for (int tile = blockIdx.x; tile < r.target.sizes[0] * tall * wide; tile += gridDim.x) {
        int frame = tile / (tall * wide), rest = tile - frame * (tall * wide);
        int top = rest / wide * TILE, left = rest % wide * TILE;
        int rows_here = min(TILE, height - top), columns = min(TILE, width - left);
        for (int i = threadIdx.x; i < TILE * TILE * CHANNELS; i += blockDim.x)
            m.sums[i / (TILE * CHANNELS)][i % (TILE * CHANNELS)] = 0.0f;
        Taps one = taps_of(r.across)[left], other = taps_of(r.across)[left + columns - 1];
        int end = max(one.end, other.end);
        for (int first = min(one.begin, other.begin) & ~3; first < end; first += BAND / CHANNELS) {
            int stop = min(first + BAND / CHANNELS, end);
            filter_down(r, frame, top, rows_here, first, stop - first, m);
            __syncthreads();
            filter_across(r, left, rows_here, columns, first, stop, m);
            __syncthreads();
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

// ---- the nearest pixel, as it is

template <int FROM, int TO>
struct Moved {
    __device__ static To::Stored of(From::Stored value) { return To::encode(From::decode(value)); }
};

template <int KIND>
struct Moved<KIND, KIND> {
    __device__ static To::Stored of(From::Stored value) { return value; }  // every bit of it
};

KERNEL(nearest, 256) {
    __shared__ Row r;
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    Groups groups = groups_of(r.target);
    const Taps *down = taps_of(r.down), *across = taps_of(r.across);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count;
         i += gridDim.x * blockDim.x) {
        Group group = group_at(groups, i);
        const From::Stored* line =
            pixel_at<From::Stored>(r.source, group.frame, down[group.row].first, 0);
        To::Stored pixels[4 * CHANNELS] = {};
        for (int j = 0; j < group.count; j++) {
            const From::Stored* from = line + across[group.column + j].first * r.source.strides[2];
            for (int c = 0; c < CHANNELS; c++)
                pixels[CHANNELS * j + c] = Moved<SOURCE, TARGET>::of(from[c * r.source.strides[3]]);
        }
        store<To::Stored, CHANNELS>(r.target, group, pixels);
    }
}
