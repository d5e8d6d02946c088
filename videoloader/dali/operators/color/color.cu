// A chain of colour operators. Each stage of the kernel is one of them: a matrix on pixels, or a
// linear function on values. Between stages, values are rounded as if they were stored.
//
// Macros: STAGES; TYPES and CHANNELS, a hexadecimal digit for the pixels in front of each stage and
// one for those behind the last, the first digit lowest; LINES, a bit for each stage; ROW_BYTES.

const int MOST = 4;       // channels
const int THREADS = 256;  // whose pixels are written together
const int VECTOR = 16;    // bytes

struct Stage {
    float factors[MOST][MOST], offsets[MOST];
};

struct Row {
    View source, target;
    Stage stages[STAGES];
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of color_on_gpu.py");

__device__ constexpr int type_at(int stage) { return TYPES >> 4 * stage & 15; }
__device__ constexpr int channels_at(int stage) { return CHANNELS >> 4 * stage & 15; }
__device__ constexpr bool is_line(int stage) { return LINES >> stage & 1; }
__device__ constexpr int common(int a, int b) { return b ? common(b, a % b) : a; }

typedef Element<type_at(0)> From;
typedef Element<type_at(STAGES)> To;
const int TAKEN = channels_at(0), MADE = channels_at(STAGES);
const bool ONLY_LINES = LINES == (1 << STAGES) - 1;

// ---- values: conversions between integers and floats are slow, so these go without

constexpr float UNIT = 8388608.0f;  // 2^23: a small integer plus it has that integer as last bits

template <int TYPE>
__device__ inline float clamped(float value) {
    const float below_half = 0.49999997f, top = TYPE == 0 ? 255.0f : 65535.0f;  // as `whole`
    return fminf(fmaxf(value + below_half, 0.0f), top);
}

// A value rounded as if it were stored: decode(encode(value)).
template <int TYPE>
__device__ inline float stored(float value) {
    if constexpr (TYPE < 2) return __fadd_rd(clamped<TYPE>(value), UNIT) - UNIT;
    if constexpr (TYPE == 2) return half_value(half_bits(value));
    return value;
}

template <int TYPE, typename T>
__device__ inline void decode_four(const Four<T>& four, float* values) {
    if constexpr (TYPE == 0) {
        u32 word = *(const u32*)four.at;
#pragma unroll
        for (int j = 0; j < 4; j++)
            values[j] = __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u | j)) - UNIT;
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++) values[j] = Element<TYPE>::decode(four.at[j]);
    }
}

template <int TYPE, typename T>
__device__ inline void encode_four(const float* values, Four<T>& four) {
    if constexpr (TYPE == 0) {
        u32 bits[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            bits[j] = __float_as_uint(__fadd_rd(clamped<TYPE>(values[j]), UNIT));
        u32 low = __byte_perm(bits[0], bits[1], 0x0040);
        u32 high = __byte_perm(bits[2], bits[3], 0x0040);
        *(u32*)four.at = __byte_perm(low, high, 0x5410);
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++) four.at[j] = Element<TYPE>::encode(values[j]);
    }
}

// ---- pixels

// A pixel of N channels through a stage and those behind it, in place.
template <int STAGE, int N>
__device__ inline void recolor(const Stage* stages, float* pixel) {
    if constexpr (STAGE < STAGES) {
        const Stage& own = stages[STAGE];
        const int made = is_line(STAGE) ? N : channels_at(STAGE + 1);
        float in[MOST];
#pragma unroll
        for (int c = 0; c < N; c++) in[c] = STAGE ? stored<type_at(STAGE)>(pixel[c]) : pixel[c];
#pragma unroll
        for (int k = 0; k < made; k++) {
            if constexpr (is_line(STAGE)) {
                pixel[k] = in[k] * own.factors[0][0] + own.offsets[0];
            } else {
                float sum = own.offsets[k];
#pragma unroll
                for (int c = 0; c < N; c++) sum = fmaf(own.factors[k][c], in[c], sum);
                pixel[k] = sum;
            }
        }
        recolor<STAGE + 1, made>(stages, pixel);
    }
}

// Four pixels of N channels, which then have M.
template <int N, int M>
__device__ inline void recolor_four(
    const Stage* stages, const Four<From::Stored>* in, Four<To::Stored>* out
) {
    float taken[4 * N], made[4 * M];
#pragma unroll
    for (int k = 0; k < N; k++) decode_four<type_at(0)>(in[k], taken + 4 * k);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float pixel[MOST];
#pragma unroll
        for (int c = 0; c < N; c++) pixel[c] = taken[N * j + c];
        recolor<0, N>(stages, pixel);
#pragma unroll
        for (int k = 0; k < M; k++) made[M * j + k] = pixel[k];
    }
#pragma unroll
    for (int k = 0; k < M; k++) encode_four<type_at(STAGES)>(made + 4 * k, out[k]);
}

// ---- a run: pixels that follow each other in memory, their channels side by side, in both views

template <int BYTES>
struct alignas(BYTES) Words {
    u32 at[BYTES / 4];
};

template <int N, int M>
struct Run {
    static constexpr int size =
        sizeof(From::Stored) > sizeof(To::Stored) ? sizeof(From::Stored) : sizeof(To::Stored);
    static constexpr int each = VECTOR / size;  // pixels of a group
    static constexpr int in_bytes = each * N * sizeof(From::Stored);
    static constexpr int out_bytes = each * M * sizeof(To::Stored);
    static constexpr bool is_direct = out_bytes == common(out_bytes, VECTOR);
    static constexpr int times = is_direct ? 4 : 1;  // groups of a thread that are loaded together
    typedef Words<common(in_bytes, VECTOR)> In;  // what a thread loads, and stores, at once
    typedef Words<common(out_bytes, VECTOR)> Out;

    const Stage* stages;
    const From::Stored* source;
    To::Stored* target;
    int count, lead;  // pixels; those in front of the first vectors

    // Whether vectors of both views begin at one pixel; it then knows which.
    __device__ bool is_aligned() {
        for (lead = 0; lead < VECTOR; lead++) {
            u64 in = (u64)(source + lead * N), out = (u64)(target + lead * M);
            if (in % sizeof(In) == 0 && out % VECTOR == 0) break;
        }
        if (lead > count) lead = count;
        return lead < VECTOR;
    }

    __device__ void recolor_all() {
        const int most = THREADS * times;
        int groups = (count - lead) / each;
        for (int first = most * blockIdx.x; first < groups; first += most * gridDim.x)
            recolor_groups(first, min(most, groups - first));
        if (blockIdx.x) return;
        for (int i = threadIdx.x; i < count - groups * each; i += blockDim.x)
            recolor_one(i < lead ? i : i + groups * each);
    }

    // Groups of `each` pixels. A thread's output is one vector, or is written through shared
    // memory, so that neighbouring threads write neighbouring vectors.
    __device__ void recolor_groups(int first, int here) {
        __shared__ Words<VECTOR> shared[is_direct ? 1 : THREADS * out_bytes / VECTOR];
        const u8* from = (const u8*)(source + (i64)lead * N) + (i64)first * in_bytes;
        u8* to = (u8*)(target + (i64)lead * M) + (i64)first * out_bytes;
        u8* place = is_direct ? to : (u8*)shared;
        for (int i = threadIdx.x; i < here; i += times * blockDim.x) {
            In in[times][in_bytes / sizeof(In)];
#pragma unroll
            for (int t = 0; t < times; t++) {
                int group = min(i + t * (int)blockDim.x, here - 1);
#pragma unroll
                for (int k = 0; k < in_bytes / (int)sizeof(In); k++)
                    in[t][k] = ((const In*)(from + (i64)group * in_bytes))[k];
            }
#pragma unroll
            for (int t = 0; t < times; t++) {
                int group = i + t * blockDim.x;
                Out out[out_bytes / sizeof(Out)];
#pragma unroll
                for (int k = 0; k < each / 4; k++)
                    recolor_four<N, M>(
                        stages,
                        (const Four<From::Stored>*)in[t] + k * N,
                        (Four<To::Stored>*)out + k * M
                    );
#pragma unroll
                for (int k = 0; k < out_bytes / (int)sizeof(Out); k++)
                    if (group < here) ((Out*)(place + (i64)group * out_bytes))[k] = out[k];
            }
        }
        if (is_direct) return;
        __syncthreads();
        int bytes = here * out_bytes, vectors = bytes / VECTOR;
        for (int i = threadIdx.x; i < vectors; i += blockDim.x)
            ((Words<VECTOR>*)to)[i] = shared[i];
        int rest = vectors * (VECTOR / (int)sizeof(Out));
        for (int i = rest + threadIdx.x; i < bytes / (int)sizeof(Out); i += blockDim.x)
            ((Out*)to)[i] = ((const Out*)shared)[i];
        __syncthreads();
    }

    __device__ void recolor_one(int number) {
        float pixel[MOST];
#pragma unroll
        for (int c = 0; c < N; c++) pixel[c] = From::decode(source[(i64)number * N + c]);
        recolor<0, N>(stages, pixel);
#pragma unroll
        for (int k = 0; k < M; k++) target[(i64)number * M + k] = To::encode(pixel[k]);
    }
};

KERNEL(recolor_frames, 256) {
    Row r = rows[blockIdx.y];
    merge_rows(r.source, r.target);
    bool is_run = r.source.sizes[0] == 1 && r.source.sizes[1] == 1;
    if (is_run && is_interleaved<TAKEN>(r.source) && is_interleaved<MADE>(r.target)) {
        constexpr int n = ONLY_LINES ? 1 : TAKEN, m = ONLY_LINES ? 1 : MADE;
        int count = r.source.sizes[2] * (TAKEN / n);
        Run<n, m> run = {
            r.stages, (const From::Stored*)r.source.address, (To::Stored*)r.target.address, count, 0
        };
        if (run.is_aligned()) {
            run.recolor_all();
            return;
        }
    }
    Groups groups = groups_of(r.source);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group place = group_at(groups, i);
        Four<From::Stored> in[TAKEN] = {};
        Four<To::Stored> out[MADE];
        load<From::Stored, TAKEN>(r.source, place, in[0].at);
        recolor_four<TAKEN, MADE>(r.stages, in, out);
        store<To::Stored, MADE>(r.target, place, out[0].at);
    }
}
