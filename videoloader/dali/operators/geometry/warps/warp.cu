// Warps pictures by a matrix, a formula or maps: each target pixel is sampled at a source position.
//
// Pixel i reaches from i to i + 1 along an axis. Macros: SOURCE and TARGET, element types; CHANNELS;
// PLACES, where a pixel comes from; INTERPOLATION; ROW_BYTES.

enum { MATRIX, SPHERE, WATER, MOVES, MAPS };  // PLACES; warps_on_gpu.py
#define LINEAR (INTERPOLATION == 1)
#define CUBIC (INTERPOLATION == 2)  // or else the nearest pixel

const int MOST = 4;  // channels

struct Row {
    View source, target;
    u64 maps[2];       // addresses: x and y of each pixel, shifted by numbers[0]
    float numbers[9];  // matrix from (x, y, 1) of the target to the source; or waves
    float fill[MOST];  // of a constant border; for the nearest pixel in the source's type
    int border, is_affine;
    int is_moved, first;  // or else copied by SPHERE, WATER, MOVES; the first move in the values
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of warps_on_gpu.py");

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

const int TILE = 32;  // rows and columns of a tile; warps_on_gpu.py

// Period of the coordinates along an axis if the border is mirrored or wrapped.
__device__ inline float period_of(int length, int border) {
    if (border == WRAP) return length;
    return border == REFLECT ? 2.0f * length : fmaxf(2.0f * length - 2.0f, 1.0f);
}

#if CUBIC
struct Taps {
    int at[4];
    float weights[4];
};

__device__ inline Taps taps_at(float place, int length, int border) {
    float center = place - 0.5f;
    if (border == CONSTANT || border == REPLICATE) {
        center = fminf(fmaxf(center, -3.0f), length + 2.0f);
    } else {
        float period = period_of(length, border);
        center = fabsf(center) < 1e30f ? fmodf(center, period) : 0.0f;
    }
    float below = floorf(center), share = center - below, a = -0.75f;
    Taps taps;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        taps.at[k] = inside((int)below - 1 + k, length, border);
        float far = fabsf(share + 1 - k);
        taps.weights[k] = far > 1.0f ? ((a * far - 5.0f * a) * far + 8.0f * a) * far - 4.0f * a
                                     : ((a + 2.0f) * far - (a + 3.0f)) * far * far + 1.0f;
    }
    return taps;
}
#else
struct Taps {
    int near, far;
    float share;  // of `far`
};

__device__ inline Taps taps_at(float place, int length, int border) {
#if LINEAR
    float center = place - 0.5f;
    if (border == CONSTANT) {
        if (!(center > -1.0f && center < length)) return {-1, -1, 0.0f};
    } else if (border == REPLICATE) {
        center = fminf(fmaxf(center, 0.0f), length - 1.0f);
    } else {
        float period = period_of(length, border);
        center = fabsf(center) < 1e30f ? fmodf(center, period) : 0.0f;
    }
    float below = floorf(center);
    int near = (int)below;
    return {inside(near, length, border), inside(near + 1, length, border), center - below};
#else
    const float far = 1e9f;  // as good as any place beyond
    int near = inside((int)fminf(fmaxf(floorf(place), -far), far), length, border);
    return {near, near, 0.0f};
#endif
}
#endif

__device__ inline float tap(const From::Stored* row, int column, const Row& r, int channel) {
    if (!row || column < 0) return r.fill[channel];
    return From::decode(row[column * r.source.strides[2] + channel * r.source.strides[3]]);
}

// A frame of the source.
struct Picture {
    const From::Stored* first;
    int height, width;
    u32 step;           // elements from one row to the next
    float tall, wide;  // places in [0, tall) and [0, wide) need no border; none where pixels lie apart
};

__device__ inline Picture picture_of(const View& v, int frame) {
    const int exact = 1 << 24;  // such sides are exact as float
    int height = v.sizes[1], width = v.sizes[2];
    u32 step = (u32)v.strides[1];
    bool is_dense = is_interleaved<CHANNELS>(v) && step == (u64)v.strides[1] && height <= exact &&
                    width <= exact;
    return {pixel_at<From::Stored>(v, frame, 0, 0), height, width, step,
            is_dense ? (float)(height - LINEAR) : 0.0f, is_dense ? (float)(width - LINEAR) : 0.0f};
}

#if !CUBIC
// Read COUNT adjacent elements in aligned words. Every word read contains at least one of them, so
// no read leaves the allocation.
template <int COUNT>
__device__ inline void load_words(const From::Stored* from, float* values) {
    const int BYTES = COUNT * sizeof(From::Stored), WORDS = (BYTES + 3) / 4;
    u32 offset = (u64)from % 4, words[WORDS + 1] = {};
    const u32* at = (const u32*)((const u8*)from - offset);
#pragma unroll
    for (int k = 0; k <= WORDS; k++)
        if (4 * k < (int)offset + BYTES) words[k] = at[k];
#pragma unroll
    for (int k = 0; k < WORDS; k++) words[k] = __funnelshift_r(words[k], words[k + 1], 8 * offset);
#pragma unroll
    for (int n = 0; n < COUNT; n++) {
        int byte = n * sizeof(From::Stored);
        values[n] = From::decode_word(words[byte / 4] >> 8 * (byte % 4));
    }
}

// The same as `sample` for what needs no border, and whether that is so.
__device__ inline bool sample_inside(const Picture& p, float x, float y, To::Stored* pixel) {
    const float half = LINEAR ? 0.5f : 0.0f;
    x -= half, y -= half;
    if (!(x >= 0.0f && y >= 0.0f && x < p.wide && y < p.tall)) return false;
    u32 column = (u32)x, row = (u32)y;
    const From::Stored* near = p.first + (u64)row * p.step + column * CHANNELS;
#if LINEAR
    float across = x - column, down = y - row, above[2 * CHANNELS], below[2 * CHANNELS];
    load_words<2 * CHANNELS>(near, above);
    load_words<2 * CHANNELS>(near + p.step, below);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        float upper = fmaf(across, above[CHANNELS + c] - above[c], above[c]);
        float lower = fmaf(across, below[CHANNELS + c] - below[c], below[c]);
        pixel[c] = To::encode(fmaf(down, lower - upper, upper));
    }
#else
    float values[CHANNELS];
    load_words<CHANNELS>(near, values);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) pixel[c] = To::encode(values[c]);
#endif
    return true;
}
#endif

__device__ inline void sample(const Row& r, const Picture& p, float x, float y, To::Stored* pixel) {
#if !CUBIC
    if (sample_inside(p, x, y, pixel)) return;
#endif
    Taps across = taps_at(x, p.width, r.border);
    Taps down = taps_at(y, p.height, r.border);
#if CUBIC
    for (int c = 0; c < CHANNELS; c++) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const From::Stored* row =
                down.at[i] < 0 ? nullptr : p.first + down.at[i] * r.source.strides[1];
            float line = 0.0f;
#pragma unroll
            for (int k = 0; k < 4; k++)
                line = fmaf(across.weights[k], tap(row, across.at[k], r, c), line);
            sum = fmaf(down.weights[i], line, sum);
        }
        pixel[c] = To::encode(sum);
    }
#else
    const From::Stored* near = down.near < 0 ? nullptr : p.first + down.near * r.source.strides[1];
#if LINEAR
    const From::Stored* far = down.far < 0 ? nullptr : p.first + down.far * r.source.strides[1];
    for (int c = 0; c < CHANNELS; c++) {
        float a = tap(near, across.near, r, c), b = tap(near, across.far, r, c);
        float above = fmaf(across.share, b - a, a);
        a = tap(far, across.near, r, c), b = tap(far, across.far, r, c);
        float below = fmaf(across.share, b - a, a);
        pixel[c] = To::encode(fmaf(down.share, below - above, above));
    }
#else
    for (int c = 0; c < CHANNELS; c++) pixel[c] = To::encode(tap(near, across.near, r, c));
#endif
#endif
}

struct Place {
    float x, y;
};

__device__ inline Place affine(const float* m, float x, float y) {
    return {fmaf(y, m[1], x * m[0]) + m[2], fmaf(y, m[4], x * m[3]) + m[5]};
}

// Where a pixel of the target comes from; `moves` of a row are pairs (x, y).
__device__ inline Place place_of(const Row& r, const short* moves, int row, int column) {
    const float* m = r.numbers;
    int height = r.target.sizes[1], width = r.target.sizes[2];
    float x = column + 0.5f, y = row + 0.5f;
    i64 pixel = (i64)row * width + column;
    if (PLACES == MAPS)
        return {((const float*)r.maps[0])[pixel] + m[0], ((const float*)r.maps[1])[pixel] + m[0]};
    if (PLACES == MOVES) {
        const short* move = moves + 2 * (r.first + pixel);
        return {x + move[0], y + move[1]};
    }
    if (PLACES == WATER)
        return {column + m[0] * sinf(m[2] * row + m[4]), row + m[1] * cosf(m[3] * column + m[5])};
    if (PLACES == SPHERE) {
        float middle_x = width / 2.0f, middle_y = height / 2.0f;
        x -= middle_x, y -= middle_y;
        float factor = sqrtf(x * x + y * y) / max(max(width, height) / 2, 1);
        return {middle_x + x * factor, middle_y + y * factor};
    }
    Place place = affine(m, x, y);
    if (!r.is_affine) {
        float depth = fmaf(y, m[7], x * m[6]) + m[8];
        // What lies at infinity is taken for the centre of the first pixel.
        place.x = depth == 0.0f ? 0.5f : place.x / depth;
        place.y = depth == 0.0f ? 0.5f : place.y / depth;
    }
    return place;
}

__device__ inline void copy_pixel(const View& v, int frame, int row, int column, To::Stored* pixel) {
    const From::Stored* from = pixel_at<From::Stored>(v, frame, row, column);
    for (int c = 0; c < CHANNELS; c++) pixel[c] = To::encode(From::decode(from[c * v.strides[3]]));
}

// ---- bytes through affine matrices
//
// A block copies the part of the source that a tile reads to shared memory, the patch, with a word
// for each pixel, the border included. A pixel of the target is then four words and arithmetic:
// instructions are what bounds this kernel.

const bool HAS_PATCHES = LINEAR && SOURCE == 0 && PLACES == MATRIX;
const int SIDE = 64;   // rows and columns of a patch
const int PITCH = 67;  // of its rows in memory: an odd number spreads them over the banks
const int LEAD = 3;    // columns in front of those read, since words of memory may begin there
const int LANES = SIDE / 4, LINES = 16;  // threads that fill a row, rows filled together

// Whole numbers up to this size are the last places of them plus FLOOR, below zero too.
const float FLOOR = 12582912.0f, FARTHEST = 4194304.0f;  // 2^23 + 2^22, 2^22
const float UNIT = 8388608.0f;                           // 2^23

__device__ inline int whole_below(float value) {
    return (int)(__float_as_uint(__fadd_rd(value, FLOOR)) - __float_as_uint(FLOOR));
}

// A tile of the target, and its patch. It has words if whole words of memory hold the patch: four
// pixels side by side are then CHANNELS words.
struct Tile {
    int frame, row, column;
    u64 target;                 // address
    bool has_patch, has_words;
    int top, left, tall, wide;  // of the patch, in the source
    u64 source;                 // address: of the first pixel if it has words, else of the frame
    u32 first;                  // offset in the patch of the source's origin, less that of FLOOR
};

// What the tiles of a row have in common.
struct Plan {
    int height, width, count;   // tiles along an axis, and in all frames
    int frames, rows, columns;  // steps from one tile of a block to its next
    bool may_have_patch, may_have_border, may_have_words;  // of tiles
    bool is_planar;
    u32 fill;       // pixel outside
    u32 step, gap;  // bytes from one row to the next, and from one word of a pixel to the next
    u32 unit;       // UNIT: a constant would take the place of the selector in `raised`
};

__device__ inline Plan plan_of(const Row& r, int stride) {
    const View &v = r.source, &target = r.target;
    Plan p = {};
    p.height = (target.sizes[1] + TILE - 1) / TILE, p.width = (target.sizes[2] + TILE - 1) / TILE;
    p.count = target.sizes[0] * p.height * p.width;
    p.frames = stride / (p.height * p.width);
    p.rows = stride / p.width % p.height, p.columns = stride % p.width;
    if (!HAS_PATCHES) return p;
    // Beyond FARTHEST the places of pixels are not exact.
    p.may_have_patch = r.is_affine && target.sizes[1] < FARTHEST && target.sizes[2] < FARTHEST;
    p.may_have_border = r.border == CONSTANT || r.border == REPLICATE;
    for (int c = 0; c < CHANNELS; c++) {
        u32 byte = (u32)fminf(fmaxf(r.fill[c], 0.0f), 255.0f);
        p.fill |= byte << 8 * c;
        p.may_have_border &= r.border != CONSTANT || byte == r.fill[c];
    }
    p.is_planar = CHANNELS > 1 && v.strides[2] == 1;
    i64 step = v.strides[1], gap = p.is_planar ? v.strides[3] : 4;
    p.step = (u32)step, p.gap = (u32)gap;
    bool is_even = CHANNELS % 2 || p.is_planar || (v.address | v.strides[0] | step) % 4 == 0;
    p.may_have_words = step == p.step && gap >> 30 == 0 && gap % 4 == 0 && is_even &&
                       (p.is_planar || is_interleaved<CHANNELS>(v));
    p.unit = __float_as_uint(UNIT);
    return p;
}

struct Range {
    float low, high;
};

// The places along an axis that a row of a matrix gives for a rectangle, with the roundings of
// `affine`. Rounding keeps the order of values, so the extremes are exactly those of the corners.
__device__ inline Range range_of(const float* line, Range x, Range y) {
    float a = x.low * line[0], b = x.high * line[0], low = fminf(a, b), high = fmaxf(a, b);
    low = fminf(fmaf(y.low, line[1], low), fmaf(y.high, line[1], low));
    high = fmaxf(fmaf(y.low, line[1], high), fmaf(y.high, line[1], high));
    return {low + line[2] - 0.5f, high + line[2] - 0.5f};
}

__device__ inline void place_patch(const Row& r, const Plan& p, Tile& tile) {
    if (!p.may_have_patch) return;
    const View &source = r.source, &target = r.target;
    int bottom = min(tile.row + TILE, target.sizes[1]) - 1;
    int right = min(tile.column + TILE, (target.sizes[2] + 3) / 4 * 4) - 1;  // whole groups
    Range rows = {tile.row + 0.5f, bottom + 0.5f}, columns = {tile.column + 0.5f, right + 0.5f};
    Range x = range_of(r.numbers, columns, rows), y = range_of(r.numbers + 3, columns, rows);
    bool is_near = x.low > -FARTHEST && x.high < FARTHEST && y.low > -FARTHEST && y.high < FARTHEST;
    if (!is_near) return;
    int top = whole_below(y.low), tall = whole_below(y.high) - top + 2;
    int left = whole_below(x.low), wide = whole_below(x.high) - left + 2;
    if (tall > SIDE || wide > SIDE - LEAD) return;
    bool is_inside = top >= 0 && top + tall <= source.sizes[1] && left >= 0 &&
                     left + wide <= source.sizes[2];
    bool has_words = is_inside && p.may_have_words && left >= LEAD &&
                     left + (wide + LEAD + 3) / 4 * 4 <= source.sizes[2];
    tile.top = top, tile.left = left, tile.tall = tall, tile.wide = wide;
    tile.has_patch = is_inside || p.may_have_border, tile.has_words = has_words;
    tile.first = 4 * (LEAD - left - top * PITCH - (PITCH + 1) * __float_as_uint(FLOOR));
    tile.source = source.address + tile.frame * source.strides[0];
    if (has_words) tile.source += (u64)(u32)top * p.step + left * (p.is_planar ? 1 : CHANNELS);
}

// Pixel j of the four that words hold; the bytes above its channels are of any value.
template <bool IS_PLANAR>
__device__ inline u32 pixel_of(const u32* words, int j) {
    const int N = CHANNELS;
    if constexpr (!IS_PLANAR) {
        int word = j * N / 4, last = min(word + 1, N - 1);
        return __funnelshift_r(words[word], words[last], 8 * (j * N % 4));
    }
    u32 pixel = words[0] >> 8 * j;
    if (N > 1) pixel = __byte_perm(words[0], words[min(1, N - 1)], j | (4 + j) << 4);
    if (N > 2) pixel = __byte_perm(pixel, words[min(2, N - 1)], 0x0010 | (4 + j) << 8);
    if (N > 3) pixel = __byte_perm(pixel, words[N - 1], 0x0210 | (4 + j) << 12);
    return pixel;
}

template <bool IS_PLANAR>
__device__ inline void fill_by_words(const Plan& p, const Tile& tile, u32* patch) {
    const int N = IS_PLANAR ? 1 : CHANNELS;  // bytes of a pixel that lie together
    const u32 gap = IS_PLANAR ? p.gap : 4;
    for (u32 i = threadIdx.x; i < LANES * LINES; i += blockDim.x) {
        u32 row = i / LANES, column = i % LANES * 4, tall = tile.tall;
        if (column >= (u32)tile.wide + LEAD) continue;
        u64 at = tile.source + (u64)row * p.step + column * N;
        u32 lead = N == 2 ? at / 2 % 2 : at * N % 4;  // pixels from the start of a word on
        const u8* from = (const u8*)(at - lead * N);
        u32* to = patch + row * PITCH + column + LEAD - lead;
#pragma unroll 1
        for (; row < tall; row += LINES, from += (u64)LINES * p.step, to += LINES * PITCH) {
            __builtin_assume(__isGlobal(from));
            u32 words[CHANNELS];
#pragma unroll
            for (int k = 0; k < CHANNELS; k++) words[k] = *(const u32*)(from + k * gap);
#pragma unroll
            for (int j = 0; j < 4; j++) to[j] = pixel_of<IS_PLANAR>(words, j);
        }
    }
}

// A pixel of the source, or what stands for it outside, with its channels as bytes.
__device__ inline u32 packed_pixel(const Row& r, const Plan& p, u64 frame, int row, int column) {
    const View& v = r.source;
    int y = min(max(row, 0), v.sizes[1] - 1), x = min(max(column, 0), v.sizes[2] - 1);
    if (r.border == CONSTANT && (y != row || x != column)) return p.fill;
    const u8* from = (const u8*)frame + y * v.strides[1] + x * v.strides[2];
    __builtin_assume(__isGlobal(from));
    u32 pixel = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) pixel |= (u32)from[c * v.strides[3]] << 8 * c;
    return pixel;
}

__device__ inline void fill_patch(const Row& r, const Plan& p, const Tile& tile, u32* patch) {
    if (tile.has_words) {
        if (p.is_planar) fill_by_words<true>(p, tile, patch);
        else fill_by_words<false>(p, tile, patch);
        return;
    }
    for (int i = threadIdx.x; i < tile.tall * SIDE; i += blockDim.x) {
        int row = i / SIDE, column = i % SIDE;
        if (column < tile.wide)
            patch[row * PITCH + LEAD + column] =
                packed_pixel(r, p, tile.source, tile.top + row, tile.left + column);
    }
}

// A byte of a word plus 2^23, which is `unit`.
__device__ inline float raised(u32 word, int byte, u32 unit) {
    return __uint_as_float(__byte_perm(word, unit, 0x7440u | byte));
}

// A pixel by the arithmetic of `sample`.
__device__ inline void sample_patch(
    const u32* patch, u32 first, u32 unit, Place place, float* pixel
) {
    float x = place.x - 0.5f, y = place.y - 0.5f;
    float column = __fadd_rd(x, FLOOR), row = __fadd_rd(y, FLOOR);
    float across = x - (column - FLOOR), down = y - (row - FLOOR);
    u32 at = __float_as_uint(row) * (4 * PITCH) + first + 4 * __float_as_uint(column);
    const u32* near = (const u32*)((const u8*)patch + at);
    u32 taps[4] = {near[0], near[1], near[PITCH], near[PITCH + 1]};
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        float lines[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            float one = raised(taps[2 * k], c, unit), other = raised(taps[2 * k + 1], c, unit);
            lines[k] = fmaf(across, other - one, one - UNIT);
        }
        pixel[c] = fmaf(down, lines[1] - lines[0], lines[0]);
    }
}

// Four bytes as a word, each as `Element<0>::encode` makes it from values of -0.5 to below 255.5.
__device__ inline u32 rounded_four(const float* values) {
    u32 bits[4];  // the whole part is the second byte
#pragma unroll
    for (int j = 0; j < 4; j++) bits[j] = __float_as_uint(__fadd_rz(values[j], 32768.5f));
    u32 low = __byte_perm(bits[0], bits[1], 0x0051), high = __byte_perm(bits[2], bits[3], 0x0051);
    return __byte_perm(low, high, 0x5410);
}

// ---- tiles

__device__ inline bool is_within(const View& v, const Tile& tile, u32 row, u32 column) {
    return (tile.row + (int)row < v.sizes[1]) & (tile.column + (int)column < v.sizes[2]);
}

// A tile from its patch.
__device__ inline void sample_tile(const Row& r, u32 unit, const Tile& tile, const u32* patch) {
    const View& v = r.target;
    float matrix[6];
#pragma unroll
    for (int k = 0; k < 6; k++) matrix[k] = r.numbers[k];
    for (u32 i = threadIdx.x; i < TILE * TILE / 4; i += blockDim.x) {
        u32 row = i / (TILE / 4), column = 4 * (i % (TILE / 4));
        if (!is_within(v, tile, row, column)) continue;
        float x = tile.column + (int)column + 0.5f, y = tile.row + (int)row + 0.5f;
        float values[4 * CHANNELS];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            Place place = affine(matrix, x + j, y);
            sample_patch(patch, tile.first, unit, place, values + CHANNELS * j);
        }
        Group group = {tile.frame, tile.row + (int)row, tile.column + (int)column, 4};
        group.count = min(4, v.sizes[2] - group.column);
        To::Stored pixels[4 * CHANNELS];
        if constexpr (TARGET == 0) {
            u32 words[CHANNELS];
#pragma unroll
            for (int k = 0; k < CHANNELS; k++) words[k] = rounded_four(values + 4 * k);
            u8* to = (u8*)tile.target + row * v.strides[1] + column * CHANNELS;
            __builtin_assume(__isGlobal(to));
            if (is_interleaved<CHANNELS>(v) && group.count == 4 && (u64)to % 4 == 0) {
#pragma unroll
                for (int k = 0; k < CHANNELS; k++) ((u32*)to)[k] = words[k];
                continue;
            }
#pragma unroll
            for (int k = 0; k < 4 * CHANNELS; k++) pixels[k] = words[k / 4] >> 8 * (k % 4);
        } else {
#pragma unroll
            for (int k = 0; k < 4 * CHANNELS; k++) pixels[k] = To::encode(values[k]);
        }
        store<To::Stored, CHANNELS>(v, group, pixels);
    }
}

struct Made {
    alignas(16) To::Stored pixels[TILE][TILE * CHANNELS];
};

// A tile from the source.
__device__ inline void warp_tile(const Row& r, const short* moves, const Tile& tile, Made& made) {
    const bool is_copied = PLACES != MATRIX && PLACES != MAPS && !r.is_moved;
    const View& v = r.target;
    Picture picture = picture_of(r.source, tile.frame);
    // The threads of a warp make 4 rows of 8 pixels: what they read lies close together in every
    // direction. Four pixels side by side are then stored by one thread.
    for (u32 i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        int row = i / (TILE * 4) * 4 + i % 32 / 8, column = i / 32 % (TILE / 8) * 8 + i % 8;
        if (!is_within(v, tile, row, column)) continue;
        To::Stored* pixel = &made.pixels[row][CHANNELS * column];
        if (is_copied) {
            copy_pixel(r.source, tile.frame, tile.row + row, tile.column + column, pixel);
            continue;
        }
        Place place = place_of(r, moves, tile.row + row, tile.column + column);
        sample(r, picture, place.x, place.y, pixel);
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < TILE * TILE / 4; i += blockDim.x) {
        u32 row = i / (TILE / 4), column = 4 * (i % (TILE / 4));
        if (!is_within(v, tile, row, column)) continue;
        Group group = {tile.frame, tile.row + (int)row, tile.column + (int)column, 4};
        group.count = min(4, v.sizes[2] - group.column);
        To::Stored pixels[4 * CHANNELS];
#pragma unroll
        for (int k = 0; k < CHANNELS; k++) {
            auto four = ((const Four<To::Stored>*)&made.pixels[row][CHANNELS * column])[k];
            for (int j = 0; j < 4; j++) pixels[4 * k + j] = four.at[j];
        }
        store<To::Stored, CHANNELS>(v, group, pixels);
    }
}

// The tile whose place is known.
__device__ inline void begin_tile(const Row& r, const Plan& p, Tile& tile) {
    tile.target = (u64)pixel_at<To::Stored>(r.target, tile.frame, tile.row, tile.column);
    tile.has_patch = false;
    if constexpr (HAS_PATCHES) place_patch(r, p, tile);
}

__device__ inline void step_tile(const Plan& p, const Tile& before, Tile& tile) {
    int column = before.column / TILE + p.columns, row = before.row / TILE + p.rows;
    if (column >= p.width) column -= p.width, row++;
    tile.frame = before.frame + p.frames;
    if (row >= p.height) row -= p.height, tile.frame++;
    tile.row = row * TILE, tile.column = column * TILE;
}

KERNEL(warp, 256, HAS_PATCHES ? 5 : 3) {
    __shared__ Row r;
    __shared__ Plan plan;
    __shared__ Tile tiles[2];  // this and the next
    __shared__ Made made;
    __shared__ u32 patch[HAS_PATCHES ? SIDE * PITCH : 1];
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        plan = plan_of(r, gridDim.x);
        int number = blockIdx.x, across = plan.width, all = plan.height * plan.width;
        tiles[0] = {number / all, number % all / across * TILE, number % across * TILE};
        begin_tile(r, plan, tiles[0]);
    }
    __syncthreads();
    for (int number = blockIdx.x, turn = 0; number < plan.count; number += gridDim.x, turn ^= 1) {
        const Tile& tile = tiles[turn];
        if (tile.has_patch) {
            fill_patch(r, plan, tile, patch);
            __syncthreads();
            sample_tile(r, plan.unit, tile, patch);
        } else {
            warp_tile(r, (const short*)values, tile, made);
        }
        if (threadIdx.x == 0) {
            step_tile(plan, tile, tiles[turn ^ 1]);
            begin_tile(r, plan, tiles[turn ^ 1]);
        }
        __syncthreads();
    }
}
