// Windows of frames: mirrored, converted or scaled, with fill values where they reach outside.
//
// Macros: SIZE, bytes of elements that are only moved, or 0; if it is 0, SOURCE and TARGET, element
// types, SCALED, whether values go through a line, and CUT, whether what is behind the point is cut
// off. CHANNELS and TARGET_CHANNELS: those without a counterpart in the source are filled. PIXELS
// side by side that a thread makes, at least four; ROW_BYTES.

const int MOST = 4;  // channels

struct Row {
    View source, target;
    u64 fill[MOST];  // of each channel: the bits of an element of the target, and zeros
    float factors[MOST], offsets[MOST];
    int start[3];  // first frame, row and column of the window in the source; may lie outside
    int flips;     // COLUMNS | ROWS | FRAMES
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of windows_on_gpu.py");

enum { COLUMNS = 1, ROWS = 2, FRAMES = 4 };

// ---- more element types: 16 int8, 17 int16, 18 bool

// To the nearest integer, halves away from zero, clamped; NaN is 0. As `saturate`.
__device__ inline int whole_between(float value, float bottom, float top) {
    float rounded = value + copysignf(0.49999997f, value);
    return value == value ? (int)fminf(fmaxf(rounded, bottom), top) : 0;
}

template <>
struct Element<16> {
    typedef u8 Stored;
    __device__ static float decode(u8 bits) { return (signed char)bits; }
    __device__ static u8 encode(float value) { return (u8)whole_between(value, -128.0f, 127.0f); }
};

template <>
struct Element<17> {
    typedef u16 Stored;
    __device__ static float decode(u16 bits) { return (short)bits; }
    __device__ static u16 encode(float value) {
        return (u16)whole_between(value, -32768.0f, 32767.0f);
    }
};

template <>
struct Element<18> {
    typedef u8 Stored;
    __device__ static float decode(u8 bits) { return bits; }
    __device__ static u8 encode(float value) { return !(fabsf(value) < 0.5f); }
};

// ---- elements

__device__ inline void take_bits(u64 bits, u64& value) { value = bits; }
__device__ inline void take_bits(u64 bits, u32& value) { value = (u32)bits; }
__device__ inline void take_bits(u64 bits, u16& value) { value = (u16)bits; }
__device__ inline void take_bits(u64 bits, u8& value) { value = (u8)bits; }
__device__ inline void take_bits(u64 bits, float& value) { value = __uint_as_float((u32)bits); }

template <typename T>
__device__ inline u64 bits_of(T value) { return value; }
__device__ inline u64 bits_of(float value) { return __float_as_uint(value); }

#if SIZE
typedef Bits<SIZE>::Type From;
typedef From To;

__device__ inline To made(const Row&, From value, int) { return value; }
#else
typedef Element<SOURCE>::Stored From;
typedef Element<TARGET>::Stored To;

__device__ inline To made(const Row& r, From stored, int channel) {
    float value = Element<SOURCE>::decode(stored);
    if (SCALED) value = value * r.factors[channel] + r.offsets[channel];
    if (CUT) value = truncf(value);
    return Element<TARGET>::encode(value);
}
#endif

// ---- elements side by side in memory, through words of four bytes

template <int WORDS>
struct alignas(4 * WORDS) Words {
    u32 at[WORDS];
};

template <int WORDS, int COUNT>
__device__ inline void read_words(u64 from, u32* words) {
#pragma unroll
    for (int k = 0; k < COUNT / WORDS; k++) {
        Words<WORDS> part = ((const Words<WORDS>*)from)[k];
        for (int j = 0; j < WORDS; j++) words[WORDS * k + j] = part.at[j];
    }
}

template <int WORDS, int COUNT>
__device__ inline void write_words(u64 to, const u32* words) {
#pragma unroll
    for (int k = 0; k < COUNT / WORDS; k++) {
        Words<WORDS> part;
        for (int j = 0; j < WORDS; j++) part.at[j] = words[WORDS * k + j];
        ((Words<WORDS>*)to)[k] = part;
    }
}

// From any place: words that are not aligned are put together of two that are. None of those lies
// apart from what is wanted, so all of them are memory that may be read.
template <typename T, int COUNT>
__device__ inline void read_span(const T* elements, T* values) {
    const int COUNT_OF_WORDS = COUNT * (int)sizeof(T) / 4;
    u32 words[COUNT_OF_WORDS];
    u64 from = (u64)elements;
    if (COUNT_OF_WORDS % 4 == 0 && from % 16 == 0) {
        read_words<4, COUNT_OF_WORDS>(from, words);
    } else if (COUNT_OF_WORDS % 2 == 0 && from % 8 == 0) {
        read_words<2, COUNT_OF_WORDS>(from, words);
    } else if (from % 4 == 0) {
        read_words<1, COUNT_OF_WORDS>(from, words);
    } else {
        const u32* aligned = (const u32*)(from - from % 4);
        u32 shift = 8 * (u32)(from % 4), low = aligned[0];
#pragma unroll
        for (int k = 0; k < COUNT_OF_WORDS; k++) {
            u32 high = aligned[k + 1];
            words[k] = (u32)(((u64)high << 32 | low) >> shift);
            low = high;
        }
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int BYTE = k * (int)sizeof(T), WORD = BYTE / 4;
        u64 pair = words[WORD];
        if (sizeof(T) == 8) pair |= (u64)words[(BYTE + (int)sizeof(T) - 1) / 4] << 32;
        take_bits(pair >> 8 * (BYTE % 4), values[k]);
    }
}

template <typename T, int COUNT>
__device__ inline void write_span(T* elements, const T* values) {
    const int COUNT_OF_WORDS = COUNT * (int)sizeof(T) / 4;
    u64 to = (u64)elements;
    if (to % 4) {
        for (int k = 0; k < COUNT; k++) elements[k] = values[k];
        return;
    }
    u32 words[COUNT_OF_WORDS] = {};
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int BYTE = k * (int)sizeof(T), WORD = BYTE / 4;
        u64 bits = bits_of(values[k]);
        words[WORD] |= (u32)bits << 8 * (BYTE % 4);
        if (sizeof(T) == 8) words[(BYTE + (int)sizeof(T) - 1) / 4] = (u32)(bits >> 32);
    }
    if (COUNT_OF_WORDS % 4 == 0 && to % 16 == 0) {
        write_words<4, COUNT_OF_WORDS>(to, words);
    } else if (COUNT_OF_WORDS % 2 == 0 && to % 8 == 0) {
        write_words<2, COUNT_OF_WORDS>(to, words);
    } else {
        write_words<1, COUNT_OF_WORDS>(to, words);
    }
}

// ---- PIXELS side by side; their channels one behind the other

template <typename T, int N>
__device__ inline void read_pixels(const View& v, const T* from, T* pixels) {
    if (is_interleaved<N>(v)) {
        read_span<T, PIXELS * N>(from, pixels);
        return;
    }
#pragma unroll
    for (int c = 0; c < N; c++, from += v.strides[3]) {
        T plane[PIXELS];
        if (v.strides[2] == 1) {
            read_span<T, PIXELS>(from, plane);
        } else {
            for (int j = 0; j < PIXELS; j++) plane[j] = from[j * v.strides[2]];
        }
        for (int j = 0; j < PIXELS; j++) pixels[N * j + c] = plane[j];
    }
}

template <typename T, int N>
__device__ inline void write_pixels(const View& v, T* to, const T* pixels) {
    if (is_interleaved<N>(v)) {
        write_span<T, PIXELS * N>(to, pixels);
        return;
    }
#pragma unroll
    for (int c = 0; c < N; c++, to += v.strides[3]) {
        T plane[PIXELS];
        for (int j = 0; j < PIXELS; j++) plane[j] = pixels[N * j + c];
        if (v.strides[2] == 1) {
            write_span<T, PIXELS>(to, plane);
        } else {
            for (int j = 0; j < PIXELS; j++) to[j * v.strides[2]] = plane[j];
        }
    }
}

__device__ inline To fill_of(const Row& r, int channel) {
    To value;
    take_bits(r.fill[channel], value);
    return value;
}

template <bool MIRRORED>
__device__ inline void make_pixels(const Row& r, const From* taken, To* pixels) {
#pragma unroll
    for (int j = 0; j < PIXELS; j++) {
        const From* from = taken + CHANNELS * (MIRRORED ? PIXELS - 1 - j : j);
        for (int c = 0; c < TARGET_CHANNELS; c++)
            pixels[TARGET_CHANNELS * j + c] =
                c < CHANNELS ? made(r, from[min(c, CHANNELS - 1)], c) : fill_of(r, c);
    }
}

// A pixel at a time, for groups that are not whole or lie across a border. `column` and `step`: of
// the first pixel in the source, and to the next.
__device__ inline void make_some(
    const Row& r, const From* line, To* to, int count, int column, int step
) {
#pragma unroll 1
    for (int j = 0; j < count; j++, column += step, to += r.target.strides[2]) {
        bool is_inside = line && column >= 0 && column < r.source.sizes[2];
        const From* from = line + column * r.source.strides[2];
        for (int c = 0; c < TARGET_CHANNELS; c++)
            to[c * r.target.strides[3]] = c < CHANNELS && is_inside
                ? made(r, from[c * r.source.strides[3]], c)
                : fill_of(r, c);
    }
}

__device__ inline bool is_whole(const Row& r) {
    for (int dim = 0; dim < 3; dim++)
        if (r.start[dim] || r.source.sizes[dim] != r.target.sizes[dim]) return false;
    return !r.flips;
}

__device__ inline int source_place(const Row& r, int dim, int flip, int place) {
    return r.start[dim] + (r.flips & flip ? r.target.sizes[dim] - 1 - place : place);
}

KERNEL(window, 256) {
    Row r = rows[blockIdx.y];
    if (is_whole(r)) merge_rows(r.source, r.target);
    int high = r.target.sizes[1], wide = r.target.sizes[2], most = r.source.sizes[2];
    int across = (wide + PIXELS - 1) / PIXELS, count = r.target.sizes[0] * high * across;
    bool mirrored = r.flips & COLUMNS;
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int line = across == count ? 0 : i / across;
        int frame = line < high ? 0 : line / high, row = line - frame * high;
        int column = PIXELS * (i - line * across), length = min(PIXELS, wide - column);
        int source_frame = source_place(r, 0, FRAMES, frame);
        int source_row = source_place(r, 1, ROWS, row);
        bool has_line = source_frame >= 0 && source_frame < r.source.sizes[0] && source_row >= 0 &&
                        source_row < r.source.sizes[1];
        int leftmost = source_place(r, 2, COLUMNS, mirrored ? column + length - 1 : column);
        const From* from = pixel_at<From>(r.source, source_frame, source_row, 0);
        To* to = pixel_at<To>(r.target, frame, row, column);
        bool is_outside = !has_line || leftmost >= most || leftmost + length <= 0;
        To pixels[PIXELS * TARGET_CHANNELS];
        if (length == PIXELS && has_line && leftmost >= 0 && leftmost + PIXELS <= most) {
            From taken[PIXELS * CHANNELS];
            read_pixels<From, CHANNELS>(r.source, from + leftmost * r.source.strides[2], taken);
            if (mirrored)
                make_pixels<true>(r, taken, pixels);
            else
                make_pixels<false>(r, taken, pixels);
        } else if (length == PIXELS && is_outside) {
            for (int k = 0; k < PIXELS * TARGET_CHANNELS; k++)
                pixels[k] = fill_of(r, k % TARGET_CHANNELS);
        } else {
            int first = mirrored ? leftmost + length - 1 : leftmost;
            make_some(r, has_line ? from : nullptr, to, length, first, mirrored ? -1 : 1);
            continue;
        }
        write_pixels<To, TARGET_CHANNELS>(r.target, to, pixels);
    }
}
