// Noise. Each element, or each pixel, has random numbers of its own, found by its index.
//
// Philox4x32 with 10 rounds gives a block of four words for a counter. Nothing is rejected, so an
// element takes the same numbers whatever its value is. Samples are contiguous. Macros: TYPE, of
// elements, for Gaussian and shot noise; SIZE, bytes of an element, and CHANNELS, of pixels whose
// channels are side by side, else 1, for salt and pepper; ROW_BYTES.

struct Row {
    View source, target;  // only their addresses are used
    i64 count;            // elements
    u64 hits, salts;      // shares of pixels, and of salt among them, times 2^32
    u64 salt, pepper;     // the bytes of an element
    u32 key[2], stream[2];  // of the sample; `stream` is the upper half of its counters
    int channels, inner;  // elements of a pixel, and the elements between them
    float mean, deviation, factor;
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of noise.py");

struct Block {
    u32 words[4];
};

enum { FIRST, SECOND };  // blocks of the same elements

__device__ inline Block draw(const Row& r, u64 number, int block) {
    u32 a = (u32)number, b = (u32)(number >> 32) | (u32)block << 31;
    u32 c = r.stream[0], d = r.stream[1], k = r.key[0], l = r.key[1];
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u64 first = (u64)0xD2511F53u * a, second = (u64)0xCD9E8D57u * c;
        a = (u32)(second >> 32) ^ b ^ k, b = (u32)second;
        c = (u32)(first >> 32) ^ d ^ l, d = (u32)first;
        k += 0x9E3779B9u, l += 0xBB67AE85u;
    }
    return {{a, b, c, d}};
}

template <typename T, int N>
__device__ inline void load_group(const T* source, i64 left, bool is_aligned, T* values) {
    if (is_aligned && left >= 4 * N) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            Four<T> four = ((const Four<T>*)source)[k];
            for (int j = 0; j < 4; j++) values[4 * k + j] = four.at[j];
        }
        return;
    }
    for (int j = 0; j < 4 * N; j++)
        if (j < left) values[j] = source[j];
}

template <typename T, int N>
__device__ inline void store_group(T* target, i64 left, bool is_aligned, const T* values) {
    if (is_aligned && left >= 4 * N) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const T* own = values + 4 * k;
            ((Four<T>*)target)[k] = Four<T>{{own[0], own[1], own[2], own[3]}};
        }
        return;
    }
    for (int j = 0; j < 4 * N; j++)
        if (j < left) target[j] = values[j];
}

// ---- salt and pepper: elements by their bytes

typedef Bits<SIZE>::Type Word;

// The number of the pixel that an element belongs to, where channels are not side by side.
__device__ inline u64 pixel_of(const Row& r, u64 element) {
    if (r.channels == 1) return element;
    if (r.count >> 32) {
        u64 line = element / r.inner;
        return line / r.channels * r.inner + (element - line * r.inner);
    }
    u32 line = (u32)element / r.inner;
    return (u64)(line / r.channels) * r.inner + ((u32)element - line * r.inner);
}

KERNEL(salt_and_pepper, 256) {
    const Row& r = rows[blockIdx.y];
    const Word* source = (const Word*)r.source.address;
    Word* target = (Word*)r.target.address;
    __builtin_assume(__isGlobal(source));
    __builtin_assume(__isGlobal(target));
    bool is_aligned = (r.source.address | r.target.address) % sizeof(Four<Word>) == 0;
    const int group = 4 * CHANNELS;
    i64 groups = (r.count + group - 1) / group, step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += step) {
        Word values[group] = {};
        i64 first = group * i, left = r.count - first;
        load_group<Word, CHANNELS>(source + first, left, is_aligned, values);
        Block block = {};
        u64 drawn = ~0ull;  // number of the block
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u64 number = pixel_of(r, 4 * i + j);
            if (drawn != number / 2) block = draw(r, drawn = number / 2, FIRST);
            u32 hit = number & 1 ? block.words[2] : block.words[0];
            u32 salt = number & 1 ? block.words[3] : block.words[1];
            if (hit >= r.hits) continue;
            Word value = (Word)(salt < r.salts ? r.salt : r.pepper);
            for (int c = 0; c < CHANNELS; c++) values[CHANNELS * j + c] = value;
        }
        store_group<Word, CHANNELS>(target + first, left, is_aligned, values);
    }
}

// ---- Gaussian and shot noise

typedef Element<TYPE> Kind;
typedef Kind::Stored Stored;

// Four numbers of the standard normal distribution, by the method of Box and Muller.
__device__ inline void normals_of(const Block& block, float* normals) {
    const float unit = 2.3283064365386963e-10f, turn = 6.283185307179586f;  // 2^-32, 2 pi
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
        float radius = sqrtf(-2.0f * logf(((float)block.words[j] + 0.5f) * unit));
        float angle = ((float)(int)block.words[j + 1] * unit) * turn;  // from -pi to pi
        normals[j] = radius * __cosf(angle);
        normals[j + 1] = radius * __sinf(angle);
    }
}

constexpr float MOST_COUNTED = 10.0f;  // the largest mean whose probabilities are added up

// A number of the Poisson distribution by inversion: probabilities are added up until they reach
// `uniform`. Those behind the mode that are below the spacing of `uniform` count as none.
__device__ inline float counted_events(float mean, u32 word) {
    float uniform = ((float)(word >> 9) + 0.5f) * 1.1920928955078125e-7f;  // 2^-23
    float probability = __expf(-mean), events = 0.0f;
    while (uniform > probability && (probability > 5.9604644775390625e-8f || events < mean)) {
        uniform -= probability;
        events += 1.0f;
        probability *= __fdividef(mean, events);
    }
    return events;
}

// The same for larger means: the quantile of the distribution where the normal distribution has
// `normal`, by its expansion in 1 / sqrt(mean). Of the numbers it draws, a share of 1.4e-4 differs
// from the exact ones at a mean of 10, of 1e-6 at 100.
__device__ inline float transformed_events(float mean, float normal) {
    float root = sqrtf(mean), square = normal * normal;
    float second = 1.0f / 3.0f + square * (1.0f / 6.0f);
    float third = normal * (-1.0f / 36.0f - square * (1.0f / 72.0f));
    float fourth = -8.0f / 405.0f + square * (7.0f / 810.0f + square * (1.0f / 270.0f));
    float rest = second + (third + fourth / root) / root;
    return fmaxf(floorf(mean + (root * normal + rest)), 0.0f);
}

struct Gaussian {
    __device__ static void apply(const Row& r, u64 number, float* values) {
        float normals[4];
        normals_of(draw(r, number, FIRST), normals);
#pragma unroll
        for (int j = 0; j < 4; j++) values[j] += r.mean + r.deviation * normals[j];
    }
};

struct Shot {
    __device__ static void apply(const Row& r, u64 number, float* values) {
        if (r.factor == 0.0f) return;
        Block block = draw(r, number, FIRST);
        float normals[4] = {};
        bool has_normals = false;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float mean = fmaxf(values[j] / r.factor, 0.0f);
            if (mean > MOST_COUNTED) {
                // Of a block of its own: numbers of neighbours stay independent.
                if (!has_normals) normals_of(draw(r, number, SECOND), normals);
                has_normals = true;
                values[j] = transformed_events(mean, normals[j]) * r.factor;
            } else {
                values[j] = counted_events(mean, block.words[j]) * r.factor;
            }
        }
    }
};

template <typename Noise>
__device__ inline void add_noise(const Row& r) {
    const Stored* source = (const Stored*)r.source.address;
    Stored* target = (Stored*)r.target.address;
    __builtin_assume(__isGlobal(source));
    __builtin_assume(__isGlobal(target));
    bool is_aligned = (r.source.address | r.target.address) % sizeof(Four<Stored>) == 0;
    i64 groups = (r.count + 3) / 4, step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += step) {
        Stored stored[4] = {};
        i64 left = r.count - 4 * i;
        load_group<Stored, 1>(source + 4 * i, left, is_aligned, stored);
        float values[4];
#pragma unroll
        for (int j = 0; j < 4; j++) values[j] = Kind::decode(stored[j]);
        Noise::apply(r, i, values);
#pragma unroll
        for (int j = 0; j < 4; j++) stored[j] = Kind::encode(values[j]);
        store_group<Stored, 1>(target + 4 * i, left, is_aligned, stored);
    }
}

KERNEL(gaussian, 256) { add_noise<Gaussian>(rows[blockIdx.y]); }

KERNEL(shot, 256) { add_noise<Shot>(rows[blockIdx.y]); }
