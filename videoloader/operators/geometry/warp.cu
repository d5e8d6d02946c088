// Pictures seen through a matrix, a rule or maps: each pixel of the target from a place in the source.
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

// Of what lies along an axis if the border is mirrored or repeated.
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
// COUNT elements side by side. All of the words read hold some of them, so no memory of others is
// read but what shares a word with them.
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
    float across = fmaf(y, m[1], x * m[0]) + m[2], down = fmaf(y, m[4], x * m[3]) + m[5];
    if (!r.is_affine) {
        float depth = fmaf(y, m[7], x * m[6]) + m[8];
        // What lies at infinity is taken for the centre of the first pixel.
        across = depth == 0.0f ? 0.5f : across / depth;
        down = depth == 0.0f ? 0.5f : down / depth;
    }
    return {across, down};
}

__device__ inline void copy_pixel(const View& v, int frame, int row, int column, To::Stored* pixel) {
    const From::Stored* from = pixel_at<From::Stored>(v, frame, row, column);
    for (int c = 0; c < CHANNELS; c++) pixel[c] = To::encode(From::decode(from[c * v.strides[3]]));
}

struct Made {
    alignas(16) To::Stored pixels[TILE][TILE * CHANNELS];
};

KERNEL(warp, 256, 3) {
    __shared__ Row r;
    __shared__ Made made;
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    const bool is_copied = PLACES != MATRIX && PLACES != MAPS && !r.is_moved;
    int height = r.target.sizes[1], width = r.target.sizes[2];
    int tall = (height + TILE - 1) / TILE, wide = (width + TILE - 1) / TILE;
    for (int tile = blockIdx.x; tile < r.target.sizes[0] * tall * wide; tile += gridDim.x) {
        int frame = tile / (tall * wide), rest = tile - frame * (tall * wide);
        int top = rest / wide * TILE, left = rest % wide * TILE;
        Picture picture = picture_of(r.source, frame);
        // The threads of a warp make 4 rows of 8 pixels: what they read lies close together in every
        // direction. Four pixels side by side are then stored by one thread.
        for (u32 i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
            int row = i / (TILE * 4) * 4 + i % 32 / 8, column = i / 32 % (TILE / 8) * 8 + i % 8;
            if (top + row >= height || left + column >= width) continue;
            To::Stored* pixel = &made.pixels[row][CHANNELS * column];
            if (is_copied) {
                copy_pixel(r.source, frame, top + row, left + column, pixel);
                continue;
            }
            Place place = place_of(r, (const short*)values, top + row, left + column);
            sample(r, picture, place.x, place.y, pixel);
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < TILE * TILE / 4; i += blockDim.x) {
            int row = i / (TILE / 4), column = 4 * (i % (TILE / 4));
            Group group = {frame, top + row, left + column, min(4, width - left - column)};
            if (group.row >= height || group.count <= 0) continue;
            To::Stored pixels[4 * CHANNELS];
#pragma unroll
            for (int k = 0; k < CHANNELS; k++) {
                auto four = ((const Four<To::Stored>*)&made.pixels[row][CHANNELS * column])[k];
                for (int j = 0; j < 4; j++) pixels[4 * k + j] = four.at[j];
            }
            store<To::Stored, CHANNELS>(r.target, group, pixels);
        }
        __syncthreads();
    }
}
