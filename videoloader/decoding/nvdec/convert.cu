// Surfaces of a decoder -> RGB or gray in the slots of a batch: crop, resize, matrix, clamp,
// normalise, cast.
//
// One launch for all surfaces of a table: blockIdx.y is the surface, blockIdx.x and on its tiles.
// All coordinates are in the coded orientation; rotations and flips are in the strides of the
// destination. docs/decoding/colour.md has the formulas.
//
// This file uses no includes and no CUDA types, so that a C++ compiler accepts it too: that is how
// the arithmetic is tested without a GPU. Between barriers, loops stride by blockDim, and only
// shared memory carries values across barriers, so a block of one thread computes the same.
//
// Macros: ELEMENT 0 uint8, 1 uint16, 2 float16, 3 bfloat16, 4 float32;
// CHANNELS 3 for RGB, 1 for gray, which reads no chroma;
// TONE_MAP 0 none, 1 reinhard, 2 hable; SWSCALE, whether surfaces are converted as swscale does;
// SURFACE_BYTES, the size of a descriptor in Python.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct Surface {
    u64 luma, destination;                     // addresses
    i64 chroma_offset, second_chroma_offset;   // bytes after `luma`
    i64 destination_offset;                    // bytes
    i64 row_stride, column_stride, channel_stride;  // elements
    int pitch, format;                         // pitch in bytes
    int left, top, width, height;              // the displayed picture in the surface
    int crop_left, crop_top, crop_width, crop_height;  // the wanted part, in the surface
    int whole_rows, whole_columns;             // of the resized picture, turned as coded
    int window_top, window_left;               // where the destination begins in it
    int rows, columns;                         // of the destination
    int tile_rows, tile_columns, tiles;
    int filter, ties, transfer;
    float siting[2];                           // of the first chroma sample: x, y in luma pixels
    float matrix[12];                          // samples -> 0..255: rows of three and a constant
    float scale[3], shift[3];                  // normalising
};
static_assert(sizeof(Surface) == SURFACE_BYTES, "the descriptor of descriptor.py");

enum {  // format
    WIDE = 1, PLANAR = 2, HALF_WIDTH = 4, HALF_HEIGHT = 8,
    REPEAT_X = 32, REPEAT_Y = 64,  // chroma in its own size, instead of interpolating
    PRODUCTS = 128, TABLES = 256   // swscale's arithmetic, see `like_swscale`
};
enum { NEAREST, BILINEAR, TRIANGULAR };                                     // filter
enum { TIE_X = 1, TIE_Y = 2 };  // the nearest of two equally near is the one before
enum { NO_TRANSFER, PQ, HLG };

const int MAX_TILE_ROWS = 8, MAX_TILE_COLUMNS = 64, BAND = 512;  // of a resized tile; descriptor.py

#if ELEMENT == 0
typedef u8 Element;
#elif ELEMENT == 4
typedef float Element;
#else
typedef u16 Element;
#endif

template <typename T>
struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

// ---- elements

__device__ inline u16 half_bits(float value) {  // to nearest, ties to even
    u32 bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits >= 0x47800000u) return (u16)(sign | (bits > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (bits < 0x38800000u)  // a subnormal: the sum has its unit, 2^-24, as last place
        return (u16)(sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u));
    bits += 0xfffu + (bits >> 13 & 1u) - (112u << 23);
    return (u16)(sign | bits >> 13);
}

__device__ inline u16 bfloat16_bits(float value) {  // to nearest, ties to even
    u32 bits = __float_as_uint(value);
    return (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ inline Element encode(float value) {
#if ELEMENT == 0
    return (u8)rintf(value);
#elif ELEMENT == 1
    return (u16)rintf(value * 257.0f);
#elif ELEMENT == 2
    return half_bits(value);
#elif ELEMENT == 3
    return bfloat16_bits(value);
#else
    return value;
#endif
}

// ---- colour

__device__ inline float clamp(float value, float top) { return fminf(fmaxf(value, 0.0f), top); }

#if TONE_MAP
__device__ inline float pq_light(float signal) {  // BT.2100, in units of 203 cd/m2
    float rest = -expm1f(logf(signal) / 78.84375f);  // 1 - signal^(1/m2), and 1 - c1 = c2 - c3
    float ratio = fmaxf(0.1640625f - rest, 0.0f) / (0.1640625f + 18.6875f * rest);
    return 10000.0f / 203.0f * powf(ratio, 1.0f / 0.1593017578125f);
}

__device__ inline float hlg_scene(float signal) {  // BT.2100, inverse OETF
    if (signal <= 0.5f) return signal * signal / 3.0f;
    return (expf((signal - 0.55991073f) / 0.17883277f) + 0.28466892f) / 12.0f;
}

__device__ inline float hable(float x) {  // on one denominator: nothing cancels near 0
    return x * (0.042f * x + 0.005f) / (0.3f * (x * (0.15f * x + 0.5f) + 0.06f));
}

__device__ inline float compress(float light) {  // 0..1 from 0..1000 cd/m2
    const float peak = 1000.0f / 203.0f;
    light = fminf(light, peak);
#if TONE_MAP == 1
    return light * (1.0f + light / (peak * peak)) / (1.0f + light);
#else
    return hable(light) / hable(peak);
#endif
}

__device__ inline void tone_map(float* rgb, int transfer) {
    float light[3];
    for (int c = 0; c < 3; c++)
        light[c] = transfer == PQ ? pq_light(rgb[c] / 255.0f) : hlg_scene(rgb[c] / 255.0f);
    if (transfer == HLG) {
        float luminance = 0.2627f * light[0] + 0.678f * light[1] + 0.0593f * light[2];
        float gain = 1000.0f / 203.0f * powf(luminance, 0.2f);
        for (int c = 0; c < 3; c++) light[c] *= gain;
    }
    float brightest = fmaxf(light[0], fmaxf(light[1], light[2]));
    float gain = brightest > 0.0f ? compress(brightest) / brightest : 0.0f;
    float r = gain * light[0], g = gain * light[1], b = gain * light[2];
    // BT.2087: primaries of BT.2020 to those of BT.709; then the inverse of BT.1886.
    float narrow[3] = {1.6604910f * r - 0.5876411f * g - 0.0728499f * b,
                       -0.1245505f * r + 1.1328999f * g - 0.0083494f * b,
                       -0.0181508f * r - 0.1005789f * g + 1.1187297f * b};
    for (int c = 0; c < 3; c++) rgb[c] = 255.0f * powf(clamp(narrow[c], 1.0f), 1.0f / 2.4f);
}
#endif

#if SWSCALE
__device__ inline float eight_bits(float sample) { return floorf(sample / 256.0f + 0.5f); }

__device__ inline float like_swscale(const Surface& s, const float* m, float y, float u, float v) {
    if (s.format & PRODUCTS)  // each is rounded down; the constant belongs to luma
        return floorf(m[0] * y + m[3]) + floorf(m[1] * (u - 128.0f)) + floorf(m[2] * (v - 128.0f));
    // A table indexed by 8-bit luma; chroma shifts the index by whole steps.
    float place = eight_bits(y) + floorf(m[1] * eight_bits(u)) + floorf(m[2] * eight_bits(v));
    return floorf(m[0] * place + m[3] + 0.5f);
}
#endif

__device__ inline void colour(const Surface& s, float y, float u, float v, Element* pixel) {
    float rgb[3];
    for (int c = 0; c < CHANNELS; c++) {
        const float* m = s.matrix + 4 * c;
#if SWSCALE
        if (s.format & (PRODUCTS | TABLES)) {
            rgb[c] = clamp(like_swscale(s, m, y, u, v), 255.0f);
            continue;
        }
#endif
        rgb[c] = clamp(m[0] * y + (m[1] * u + (m[2] * v + m[3])), 255.0f);
    }
#if TONE_MAP
    if (s.transfer != NO_TRANSFER) tone_map(rgb, s.transfer);
#endif
    for (int c = 0; c < CHANNELS; c++) pixel[c] = encode(rgb[c] * s.scale[c] + s.shift[c]);
}

__device__ inline Element* destination(const Surface& s, int row, int column) {
    return (Element*)(s.destination + s.destination_offset) + row * s.row_stride +
           column * s.column_stride;
}

__device__ inline void store(const Surface& s, int row, int column, const Element* pixel) {
    Element* to = destination(s, row, column);
    for (int c = 0; c < CHANNELS; c++) to[c * s.channel_stride] = pixel[c];
}

// Four pixels of a row, at once where they lie side by side in memory.
__device__ inline void store_four(const Surface& s, int row, int column, const Element* pixels) {
    Element* to = destination(s, row, column);
    bool whole = s.column_stride == CHANNELS && s.channel_stride == 1;
    if (whole && (u64)to % sizeof(Four<Element>) == 0) {
        for (int k = 0; k < CHANNELS; k++) {
            Four<Element> four = {
                {pixels[4 * k], pixels[4 * k + 1], pixels[4 * k + 2], pixels[4 * k + 3]}};
            ((Four<Element>*)to)[k] = four;
        }
        return;
    }
    for (int c = 0; c < CHANNELS; c++, to += s.channel_stride) {
        if (s.column_stride == 1 && (u64)to % sizeof(Four<Element>) == 0) {
            Four<Element> four = {{pixels[c], pixels[CHANNELS + c], pixels[2 * CHANNELS + c],
                                   pixels[3 * CHANNELS + c]}};
            *(Four<Element>*)to = four;
        } else {
            for (int k = 0; k < 4; k++) to[k * s.column_stride] = pixels[CHANNELS * k + c];
        }
    }
}

// ---- positions

struct Tile {
    int row, column, rows, columns;
    bool by_columns;  // neighbours in memory are neighbours in a row
};

__device__ inline Tile tile_at(const Surface& s, int number) {
    int across = (s.columns + s.tile_columns - 1) / s.tile_columns;
    Tile t;
    t.row = number / across * s.tile_rows;
    t.column = number % across * s.tile_columns;
    t.rows = min(s.tile_rows, s.rows - t.row);
    t.columns = min(s.tile_columns, s.columns - t.column);
    t.by_columns = llabs(s.column_stride) <= llabs(s.row_stride);
    return t;
}

// One axis of a surface: the displayed part, the wanted part, and the chroma siting.
struct Axis {
    int start, length, crop_start, crop_length, whole, offset, step;
    float siting;
    bool tie;
};

__device__ inline Axis axis_of(const Surface& s, bool vertical) {
    if (vertical)
        return {s.top,           s.height,      s.crop_top, s.crop_height,
                s.whole_rows,    s.window_top,  s.format & HALF_HEIGHT ? 2 : 1,
                s.siting[1],     (s.ties & TIE_Y) != 0};
    return {s.left,      s.width,   s.crop_left, s.crop_width,
            s.whole_columns, s.window_left, s.format & HALF_WIDTH ? 2 : 1,
            s.siting[0], (s.ties & TIE_X) != 0};
}

// The samples of an axis that may be used: luma samples of the crop, and the chroma samples inside
// the picture from which pixels of the crop are interpolated.
struct Bounds {
    int low, high;
};

__device__ inline Bounds bounds_of(const Axis& a, bool chroma) {
    int last = a.crop_start + a.crop_length - 1;
    if (!chroma) return {a.crop_start, last + 1};
    int low = (int)floorf((a.crop_start - a.siting) / a.step);
    int high = (int)ceilf((last - a.siting) / a.step);
    return {max(low, a.start / a.step), min(high, (a.start + a.length - 1) / a.step) + 1};
}

// `count` samples from `first` on; the weight of sample k is norm * (1 - |k - offset| * slope).
// Samples outside the usable range are replaced by the nearest usable one: their weights are
// `before`, added to that of the first, and `behind`, added to that of the last.
struct Taps {
    int first, count;
    float offset, slope, norm, before, behind;
};

__device__ inline float weight(const Taps& t, int k) {
    return t.norm * fmaxf(1.0f - fabsf(k - t.offset) * t.slope, 0.0f);
}

__device__ __noinline__ Taps taps_of(const Surface& s, bool vertical, bool chroma, int place) {
    Axis a = axis_of(s, vertical);
    Bounds b = bounds_of(a, chroma);
    double scale = (double)a.crop_length / a.whole;
    place += a.offset;
    double at = a.crop_start + (place + 0.5) * scale;  // pixel i reaches from i to i + 1
    double center = at - 0.5, support = s.filter == TRIANGULAR ? scale : 1.0;
    if (s.filter == NEAREST) {
        u32 exact = (2 * place + 1) * (u32)a.crop_length, unit = 2 * a.whole;  // at = exact / unit
        center = a.crop_start + (int)((exact - (a.tie ? 1 : 0)) / unit);
        if (!chroma) return {(int)center, 1, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f};
    }
    if (chroma) {
        center = (center - a.siting) / a.step;
        support /= a.step;
    }
    if (support < 1.0 || s.filter != TRIANGULAR) support = 1.0;
    int low = (int)floor(center - support) + 1, high = (int)ceil(center + support);
    int first = min(max(low, b.low), b.high - 1), end = max(min(high, b.high), first + 1);
    Taps t = {first, end - first, (float)(center - first), (float)(1.0 / support), 1.0f, 0.0f, 0.0f};
    float inside = 0.0f;
#pragma unroll 1
    for (int k = low - first; k < high - first; k++) {
        float w = weight(t, k);
        if (k < 0)
            t.before += w;
        else if (k < t.count)
            inside += w;
        else
            t.behind += w;
    }
    t.norm = 1.0f / (t.before + inside + t.behind);
    t.before *= t.norm;
    t.behind *= t.norm;
    return t;
}

// ---- resized: down the columns into a band of shared memory, then along its rows

struct Scratch {
    Taps rows[2][MAX_TILE_ROWS], columns[2][MAX_TILE_COLUMNS];  // [luma, chroma]
    float band[MAX_TILE_ROWS][BAND];
    float sums[3][MAX_TILE_ROWS * MAX_TILE_COLUMNS];
};

// Adds a plane of N interleaved components to sums[component].
template <typename T, int N>
__device__ __noinline__ void add_plane(u64 plane, i64 pitch, const Tile& tile, const Taps* row_taps,
                          const Taps* column_taps, Scratch& m, int component) {
    const Taps& last = column_taps[tile.columns - 1];
    int end = N * (last.first + last.count);
    bool whole = (plane | (u64)pitch) % sizeof(Four<T>) == 0;  // the same for all threads
    for (int band = N * column_taps[0].first & ~3; band < end; band += BAND) {
        int groups = (min(BAND, end - band) + 3) / 4;
        for (int i = threadIdx.x; i < tile.rows * groups; i += blockDim.x) {
            int row = i / groups, place = band + 4 * (i % groups);
            Taps t = row_taps[row];
            const u8* from = (const u8*)plane + t.first * pitch;
            float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (whole) {
#pragma unroll 4
                for (int k = 0; k < t.count; k++) {
                    Four<T> four = *(const Four<T>*)((const T*)(from + k * pitch) + place);
                    float w = weight(t, k);
                    for (int j = 0; j < 4; j++) sum[j] += w * four.at[j];
                }
            } else {
                for (int k = 0; k < t.count; k++) {
                    const T* line = (const T*)(from + k * pitch);
                    float w = weight(t, k);
                    for (int j = 0; j < 4; j++)
                        if (place + j < end) sum[j] += w * line[place + j];
                }
            }
            if (t.before + t.behind > 0.0f) {  // at a border
                const T* above = (const T*)from + place;
                const T* below = (const T*)(from + (t.count - 1) * pitch) + place;
                for (int j = 0; j < 4; j++)
                    if (place + j < end) sum[j] += t.before * above[j] + t.behind * below[j];
            }
            for (int j = 0; j < 4; j++) m.band[row][place - band + j] = sum[j];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < tile.rows * tile.columns; i += blockDim.x) {
            int row = i / tile.columns;
            Taps t = column_taps[i % tile.columns];
            int from = max(t.first, band / N), to = min(t.first + t.count, (band + BAND) / N);
            float sum[N] = {};
            for (int k = from; k < to; k++) {
                float w = weight(t, k - t.first);
                for (int n = 0; n < N; n++) sum[n] += w * m.band[row][N * k + n - band];
            }
            if (t.before > 0.0f && from == t.first && from < to)
                for (int n = 0; n < N; n++) sum[n] += t.before * m.band[row][N * from + n - band];
            if (t.behind > 0.0f && to == t.first + t.count && from < to)
                for (int n = 0; n < N; n++)
                    sum[n] += t.behind * m.band[row][N * (to - 1) + n - band];
            for (int n = 0; n < N; n++) m.sums[component + n][i] += sum[n];
        }
        __syncthreads();
    }
}

template <typename T>
__device__ void resize(const Surface& s, const Tile& tile, Scratch& m) {
    int each = tile.rows + tile.columns;
    for (int i = threadIdx.x; i < (CHANNELS > 1 ? 2 : 1) * each; i += blockDim.x) {
        int chroma = i >= each, k = i - chroma * each;
        if (k < tile.rows)
            m.rows[chroma][k] = taps_of(s, true, chroma, tile.row + k);
        else
            m.columns[chroma][k - tile.rows] =
                taps_of(s, false, chroma, tile.column + k - tile.rows);
    }
    int pixels = tile.rows * tile.columns;
    for (int i = threadIdx.x; i < 3 * pixels; i += blockDim.x) m.sums[i / pixels][i % pixels] = 0;
    __syncthreads();
    u64 chroma = s.luma + s.chroma_offset;
    add_plane<T, 1>(s.luma, s.pitch, tile, m.rows[0], m.columns[0], m, 0);
    if (CHANNELS > 1 && s.format & PLANAR) {
        u64 second = s.luma + s.second_chroma_offset;
        add_plane<T, 1>(chroma, s.pitch, tile, m.rows[1], m.columns[1], m, 1);
        add_plane<T, 1>(second, s.pitch, tile, m.rows[1], m.columns[1], m, 2);
    } else if (CHANNELS > 1) {
        add_plane<T, 2>(chroma, s.pitch, tile, m.rows[1], m.columns[1], m, 1);
    }
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
        int row = tile.by_columns ? i / tile.columns : i % tile.rows;
        int column = tile.by_columns ? i % tile.columns : i / tile.rows;
        int at = row * tile.columns + column;
        Element pixel[CHANNELS];
        colour(s, m.sums[0][at], m.sums[1][at], m.sums[2][at], pixel);
        store(s, tile.row + row, tile.column + column, pixel);
    }
    __syncthreads();
}

// ---- in its own size: four pixels of a row for a thread, chroma from the four samples around

struct Pair {
    int near, far;  // samples
    float share;    // of `far`
};

__device__ inline Pair chroma_at(const Axis& a, const Bounds& b, int pixel, bool repeat) {
    if (repeat) return {pixel / a.step, pixel / a.step, 0.0f};
    float center = (pixel - a.siting) / a.step, below = floorf(center);
    int near = (int)below;
    return {max(near, b.low), min(near + 1, b.high - 1), center - below};
}

template <typename T>
__device__ inline float chroma_of(u64 plane, i64 pitch, int step, Pair x, Pair y) {
    const T* near = (const T*)(plane + y.near * pitch);
    if (x.share == 0.0f && y.share == 0.0f) return near[x.near * step];
    const T* far = (const T*)(plane + y.far * pitch);
    float a = near[x.near * step], b = near[x.far * step];
    float c = far[x.near * step], d = far[x.far * step];
    float above = a + x.share * (b - a), below = c + x.share * (d - c);
    return above + y.share * (below - above);
}

template <typename T>
__device__ void copy(const Surface& s, const Tile& tile) {
    Axis across = axis_of(s, false), down = axis_of(s, true);
    Bounds columns = bounds_of(across, true), rows = bounds_of(down, true);
    int step = s.format & PLANAR ? 1 : 2, groups = (tile.columns + 3) / 4;
    bool repeat_x = s.format & REPEAT_X, repeat_y = s.format & REPEAT_Y;
    u64 first = s.luma + s.chroma_offset;
    u64 second = s.format & PLANAR ? s.luma + s.second_chroma_offset : first + sizeof(T);
    for (int i = threadIdx.x; i < tile.rows * groups; i += blockDim.x) {
        int row = tile.row + (tile.by_columns ? i / groups : i % tile.rows);
        int column = tile.column + 4 * (tile.by_columns ? i % groups : i / tile.rows);
        int count = min(4, s.columns - column), y = s.crop_top + row;
        const T* luma = (const T*)(s.luma + (i64)y * s.pitch) + s.crop_left + column;
        Pair v = chroma_at(down, rows, y, repeat_y);
        Four<T> four = {};
        if (count == 4 && (u64)luma % sizeof(four) == 0)
            four = *(const Four<T>*)luma;
        else
            for (int k = 0; k < 4; k++)
                if (k < count) four.at[k] = luma[k];
        Element pixels[4 * CHANNELS];
        for (int k = 0; k < 4; k++) {
            if (k >= count) continue;
            if (CHANNELS == 1) {
                colour(s, four.at[k], 0.0f, 0.0f, pixels + k);
                continue;
            }
            Pair u = chroma_at(across, columns, s.crop_left + column + k, repeat_x);
            colour(s, four.at[k], chroma_of<T>(first, s.pitch, step, u, v),
                   chroma_of<T>(second, s.pitch, step, u, v), pixels + CHANNELS * k);
        }
        if (count == 4)
            store_four(s, row, column, pixels);
        else
            for (int k = 0; k < 4; k++)
                if (k < count) store(s, row, column + k, pixels + CHANNELS * k);
    }
}

extern "C" __global__ void __launch_bounds__(256) convert(const Surface* table) {
    __shared__ Surface s;  // read once: the table may lie in the memory of the host
    __shared__ Scratch scratch;
    for (int i = threadIdx.x; i < (int)(sizeof(Surface) / sizeof(u32)); i += blockDim.x)
        ((u32*)&s)[i] = ((const u32*)(table + blockIdx.y))[i];
    __syncthreads();
    bool resized = s.whole_rows != s.crop_height || s.whole_columns != s.crop_width;
    for (int number = blockIdx.x; number < s.tiles; number += gridDim.x) {
        Tile tile = tile_at(s, number);
        if (resized && s.format & WIDE)
            resize<u16>(s, tile, scratch);
        else if (resized)
            resize<u8>(s, tile, scratch);
        else if (s.format & WIDE)
            copy<u16>(s, tile);
        else
            copy<u8>(s, tile);
    }
}
