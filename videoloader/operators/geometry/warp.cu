// Pictures seen through a matrix: each pixel of the target from its place in the source.
//
// Pixel i reaches from i to i + 1 along an axis. Macros: SOURCE and TARGET, element types; CHANNELS;
// LINEAR, or else the nearest pixel; ROW_BYTES.

const int MOST = 4;  // channels

struct Row {
    View source, target;
    float matrix[9];   // from (x, y, 1) of the target to the source
    float fill[MOST];  // of a constant border; for the nearest pixel in the source's type
    int border, is_affine;
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of warps_on_gpu.py");

enum { CONSTANT, REPLICATE, REFLECT, REFLECT_101, WRAP };  // border; warps_on_gpu.py

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

const int TILE = 32;  // rows and columns of a tile; warps_on_gpu.py

// The pixel of an axis that stands for one that may lie outside; -1 for a constant border.
__device__ inline int inside(int index, int length, int border) {
    if (index >= 0 && index < length) return index;
    if (border == CONSTANT) return -1;
    if (border == REPLICATE) return min(max(index, 0), length - 1);
    if (border == WRAP) return modulo(index, length);
    if (border == REFLECT) {
        int phase = modulo(index, 2 * length);
        return min(phase, 2 * length - 1 - phase);
    }
    return reflect_101(index, length);
}

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
        float period = border == WRAP ? length : border == REFLECT ? 2.0f * length
                                                                   : fmaxf(2.0f * length - 2.0f, 1.0f);
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

__device__ inline float tap(const From::Stored* row, int column, const Row& r, int channel) {
    if (!row || column < 0) return r.fill[channel];
    return From::decode(row[column * r.source.strides[2] + channel * r.source.strides[3]]);
}

__device__ inline void sample(const Row& r, int frame, float x, float y, To::Stored* pixel) {
    Taps across = taps_at(x, r.source.sizes[2], r.border);
    Taps down = taps_at(y, r.source.sizes[1], r.border);
    const From::Stored* first = pixel_at<From::Stored>(r.source, frame, 0, 0);
    const From::Stored* near = down.near < 0 ? nullptr : first + down.near * r.source.strides[1];
#if LINEAR
    const From::Stored* far = down.far < 0 ? nullptr : first + down.far * r.source.strides[1];
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
}

KERNEL(warp, 256, 3) {
    __shared__ Row r;
    for (int i = threadIdx.x; i < (int)(sizeof(Row) / sizeof(u32)); i += blockDim.x)
        ((u32*)&r)[i] = ((const u32*)(rows + blockIdx.y))[i];
    __syncthreads();
    const float* m = r.matrix;
    int height = r.target.sizes[1], width = r.target.sizes[2];
    int tall = (height + TILE - 1) / TILE, wide = (width + TILE - 1) / TILE;
    for (int tile = blockIdx.x; tile < r.target.sizes[0] * tall * wide; tile += gridDim.x) {
        int frame = tile / (tall * wide), rest = tile - frame * (tall * wide);
        int top = rest / wide * TILE, left = rest % wide * TILE;
        for (int i = threadIdx.x; i < TILE * TILE / 4; i += blockDim.x) {
            int row = top + i / (TILE / 4), column = left + i % (TILE / 4) * 4;
            Group group = {frame, row, column, min(4, width - column)};
            if (row >= height || group.count <= 0) continue;
            To::Stored pixels[4 * CHANNELS] = {};
            float y = row + 0.5f;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (j >= group.count) continue;
                float x = column + j + 0.5f;
                float across = fmaf(y, m[1], x * m[0]) + m[2], down = fmaf(y, m[4], x * m[3]) + m[5];
                if (!r.is_affine) {
                    float depth = fmaf(y, m[7], x * m[6]) + m[8];
                    // What lies at infinity is taken for the centre of the first pixel.
                    across = depth == 0.0f ? 0.5f : across / depth;
                    down = depth == 0.0f ? 0.5f : down / depth;
                }
                sample(r, frame, across, down, pixels + CHANNELS * j);
            }
            store<To::Stored, CHANNELS>(r.target, group, pixels);
        }
    }
}
