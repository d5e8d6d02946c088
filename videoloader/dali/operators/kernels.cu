// Shared code of operator kernels: views of pixels, element types, groups of four pixels.
//
// Every kernel is `KERNEL(name, threads) {...}`. Its parameters are a table `const Row* rows`, with
// fields `source` and `target`, and data `const u8* values` that rows refer to. Both are in memory,
// or with TABLE_BYTES in the launch parameters. blockIdx.y is the row; the blocks along x share its
// pixels. Products are rounded before they are summed (--fmad=false), so that results equal those
// of the CPU; `fmaf` is used where that does not matter.
//
// These files use no includes and no CUDA types, so that a C++ compiler accepts them too: that is
// how the arithmetic is tested without a GPU. Between barriers, loops stride by blockDim, and only
// shared memory carries values across barriers, so a block of one thread computes the same.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct Row;

#ifdef TABLE_BYTES
struct alignas(16) Table {
    u8 bytes[TABLE_BYTES];  // rows; from `start` on what they refer to
};
#define KERNEL(name, ...)                                                            \
    static __device__ __forceinline__ void name##_of(const Row*, const u8*);         \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                        \
        name(const __grid_constant__ Table table, u32 start) {                       \
        name##_of((const Row*)table.bytes, table.bytes + start);                     \
    }                                                                                \
    static __device__ __forceinline__ void name##_of(const Row* rows, const u8* values)
#else
#define KERNEL(name, ...)                                                            \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                        \
        name(const Row* rows, const u8* values)
#endif

struct View {
    u64 address;
    i64 strides[4];  // of frames, rows, columns, channels; in elements
    int sizes[4];
};
static_assert(sizeof(View) == VIEW_BYTES, "VIEW of kernels.py");

template <typename T>
struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

// ---- element types: 0 uint8, 1 uint16, 2 float16, 3 float32; words hold them in their lowest bits

// CuPy compiles with -ftz=true, so no intermediate float may be subnormal.
__device__ inline float half_value(u16 bits) {
    u32 size = bits & 0x7fffu, sign = (u32)(bits & 0x8000u) << 16;
    if (size >= 0x7c00u) return __uint_as_float(sign | 0x70000000u | size << 13);  // infinite, NaN
    if (size >= 0x0400u) return __uint_as_float(sign | ((size << 13) + (112u << 23)));
    return __uint_as_float(sign | __float_as_uint((float)size * 5.9604644775390625e-8f));  // 2^-24
}

__device__ inline u16 half_bits(float value) {  // to nearest, ties to even
    u32 bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits >= 0x47800000u) return (u16)(sign | (bits > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (bits < 0x38800000u)  // a subnormal: the sum has its unit, 2^-24, as last place
        return (u16)(sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u));
    bits += 0xfffu + (bits >> 13 & 1u) - (112u << 23);
    return (u16)(sign | bits >> 13);
}

// To the nearest integer, halves up, clamped; NaN is 0. As `saturate` in videoloader.dali.tensors.
__device__ inline u32 whole(float value, float top) {
    const float below_half = 0.49999997f;  // adding it rounds halves up, and nothing else
    // The sum with 2^23 has whole numbers as last places; see `small`.
    return __float_as_uint(__fadd_rz(fminf(fmaxf(value + below_half, 0.0f), top), 8388608.0f));
}

// An integer below 2^23 as float: the low mantissa bits of 2^23 plus it. Conversions are slow.
__device__ inline float small(u32 number) {
    return __uint_as_float(number | 0x4b000000u) - 8388608.0f;
}

template <int KIND>
struct Element;

template <>
struct Element<0> {
    typedef u8 Stored;
    __device__ static float decode(u8 bits) { return small(bits); }
    __device__ static float decode_word(u32 bits) { return small(bits & 0xffu); }
    __device__ static u8 encode(float value) { return (u8)whole(value, 255.0f); }
};

template <>
struct Element<1> {
    typedef u16 Stored;
    __device__ static float decode(u16 bits) { return small(bits); }
    __device__ static float decode_word(u32 bits) { return small(bits & 0xffffu); }
    __device__ static u16 encode(float value) { return (u16)whole(value, 65535.0f); }
};

template <>
struct Element<2> {
    typedef u16 Stored;
    __device__ static float decode(u16 bits) { return half_value(bits); }
    __device__ static float decode_word(u32 bits) { return half_value((u16)bits); }
    __device__ static u16 encode(float value) { return half_bits(value); }
};

template <>
struct Element<3> {
    typedef float Stored;
    __device__ static float decode(float value) { return value; }
    __device__ static float decode_word(u32 bits) { return __uint_as_float(bits); }
    __device__ static float encode(float value) { return value; }
};

// ---- elements whose values stay as they are, by their bytes

template <int>
struct Bits;
template <>
struct Bits<1> { typedef u8 Type; };
template <>
struct Bits<2> { typedef u16 Type; };
template <>
struct Bits<4> { typedef u32 Type; };
template <>
struct Bits<8> { typedef u64 Type; };

// ---- groups of four pixels side by side; `pixels` holds their channels one behind the other

struct Group {
    int frame, row, column, count;  // `count` pixels, at most four
};

template <typename T>
__device__ inline T* pixel_at(const View& v, int frame, int row, int column) {
    T* place = (T*)v.address + frame * v.strides[0] + row * v.strides[1] + column * v.strides[2];
    __builtin_assume(__isGlobal(place));
    return place;
}

template <int N>
__device__ inline bool is_interleaved(const View& v) {
    return v.strides[2] == N && (N == 1 || v.strides[3] == 1);
}

template <typename T, int N>
__device__ inline void load(const View& v, Group p, T* pixels) {
    const T* from = pixel_at<T>(v, p.frame, p.row, p.column);
    bool whole = p.count == 4 && (u64)from % sizeof(Four<T>) == 0;
    if (whole && is_interleaved<N>(v)) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            Four<T> four = ((const Four<T>*)from)[k];
            for (int j = 0; j < 4; j++) pixels[4 * k + j] = four.at[j];
        }
        return;
    }
#pragma unroll
    for (int c = 0; c < N; c++, from += v.strides[3]) {
        if (whole && v.strides[2] == 1 && (u64)from % sizeof(Four<T>) == 0) {
            Four<T> four = *(const Four<T>*)from;
            for (int j = 0; j < 4; j++) pixels[N * j + c] = four.at[j];
        } else {
            for (int j = 0; j < 4; j++)
                if (j < p.count) pixels[N * j + c] = from[j * v.strides[2]];
        }
    }
}

template <typename T, int N>
__device__ inline void store(const View& v, Group p, const T* pixels) {
    T* to = pixel_at<T>(v, p.frame, p.row, p.column);
    bool whole = p.count == 4 && (u64)to % sizeof(Four<T>) == 0;
    if (whole && is_interleaved<N>(v)) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const T* four = pixels + 4 * k;
            ((Four<T>*)to)[k] = Four<T>{{four[0], four[1], four[2], four[3]}};
        }
        return;
    }
#pragma unroll
    for (int c = 0; c < N; c++, to += v.strides[3]) {
        const T* own = pixels + c;
        if (whole && v.strides[2] == 1 && (u64)to % sizeof(Four<T>) == 0) {
            *(Four<T>*)to =
                Four<T>{{own[0], own[N], own[2 * N], own[3 * N]}};
        } else {
            for (int j = 0; j < 4; j++)
                if (j < p.count) to[j * v.strides[2]] = own[N * j];
        }
    }
}

// Rows that follow each other in memory, in both, become one row; frames likewise.
__device__ inline void merge_rows(View& a, View& b) {
    for (int dim = 1; dim >= 0; dim--) {
        i64 length = a.sizes[2];
        if (a.sizes[dim] != 1 &&
            (a.strides[dim] != length * a.strides[2] || b.strides[dim] != length * b.strides[2]))
            return;
        a.sizes[2] *= a.sizes[dim];
        b.sizes[2] = a.sizes[2];
        a.sizes[dim] = b.sizes[dim] = 1;
    }
}

// The groups of a view, in the order of the target's memory if that is dense.
struct Groups {
    int rows, columns, across, count;
};

__device__ inline Groups groups_of(const View& v) {
    int across = (v.sizes[2] + 3) / 4;
    return {v.sizes[1], v.sizes[2], across, v.sizes[0] * v.sizes[1] * across};
}

__device__ inline Group group_at(const Groups& g, int number) {
    int line = g.across == g.count ? 0 : number / g.across;
    int frame = line < g.rows ? 0 : line / g.rows, column = 4 * (number - line * g.across);
    return {frame, line - frame * g.rows, column, min(4, g.columns - column)};
}

// ---- places outside

__device__ inline int modulo(int value, int period) {
    int rest = value % period;
    return rest < 0 ? rest + period : rest;
}

// The coordinate that replaces one outside, for a border mirrored without repeating the edge.
__device__ inline int reflect_101(int index, int length) {
    if (index >= 0 && index < length) return index;
    int period = max(2 * (length - 1), 1), phase = modulo(index, period);
    return min(phase, period - phase);
}

enum { CONSTANT, REPLICATE, REFLECT, REFLECT_101, WRAP };  // BORDERS of kernels.py

// The coordinate that replaces one possibly outside an axis; -1 for a constant border.
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
