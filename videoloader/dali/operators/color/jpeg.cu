// What a JPEG leaves of RGB pictures: coded with 4:2:0 chroma and decoded, without the entropy
// coding, which loses nothing. In integers, as libjpeg-turbo computes it: its "islow" transforms,
// its tables of quality, and its smooth upsampling of chroma. Pixels equal those of the CPU.
//
// Between the kernels a picture is a row of units of 16x16 pixels: four blocks of 8x8 values of
// luma, one each of blue and red chroma. Macros: ROW_BYTES. `values`: the tables of quality 50, of
// luma and of chroma.

const int BLOCK = 64, UNIT = 6 * BLOCK;  // bytes
const int UNITS = 16;                    // that a block of threads codes together
const int SHOWN = 4;                     // likewise, of those it decodes to pixels
const int PITCH = 9, ROOM = 8 * PITCH;   // of a block in shared memory, without bank conflicts

struct Row {
    View source, target;
    u64 units;  // address
    int scale;  // of the tables, in percent
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of jpeg_on_gpu.py");

// The units of a row of the table, numbered through its frames, and how many of them there are.
struct Units {
    int rows, columns, across, count;
};

struct Place {
    int frame, row, column;  // of the first pixel of a unit
};

__device__ inline Units units_of(const View& v) {
    int across = (v.sizes[2] + 15) / 16, down = (v.sizes[1] + 15) / 16;
    return {v.sizes[1], v.sizes[2], across, v.sizes[0] * down * across};
}

__device__ inline Place place_of(const Units& units, int number) {
    int line = number / units.across, down = (units.rows + 15) / 16, frame = line / down;
    return {frame, 16 * (line - frame * down), 16 * (number - line * units.across)};
}

__device__ inline int descaled(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

// Odd coefficients, which both transforms get by the same products.
struct Odd {
    int a, b, c, d;
};

__device__ inline Odd odd_of(int a, int b, int c, int d) {
    int sum = (a + c + b + d) * 9633;
    int one = (a + d) * -7373, two = (b + c) * -20995;
    int three = (a + c) * -16069 + sum, four = (b + d) * -3196 + sum;
    return {a * 2446 + one + three, b * 16819 + two + four, c * 25172 + two + three,
            d * 12299 + one + four};
}

// Values to coefficients; two bits more of them between the passes.
template <bool FIRST>
__device__ inline void forward(int* v) {
    const int bits = FIRST ? 11 : 15;
    int a = v[0] + v[7], b = v[1] + v[6], c = v[2] + v[5], d = v[3] + v[4];
    Odd odd = odd_of(v[3] - v[4], v[2] - v[5], v[1] - v[6], v[0] - v[7]);
    int high = a + d, low = b + c, product = (b - c + a - d) * 4433;
    v[0] = FIRST ? (high + low) * 4 : descaled(high + low, 2);
    v[4] = FIRST ? (high - low) * 4 : descaled(high - low, 2);
    v[2] = descaled(product + (a - d) * 6270, bits);
    v[6] = descaled(product - (b - c) * 15137, bits);
    v[7] = descaled(odd.a, bits), v[5] = descaled(odd.b, bits);
    v[3] = descaled(odd.c, bits), v[1] = descaled(odd.d, bits);
}

// And back.
template <bool FIRST>
__device__ inline void backward(int* v) {
    const int bits = FIRST ? 11 : 18;
    int product = (v[2] + v[6]) * 4433;
    int c = product - v[6] * 15137, d = product + v[2] * 6270;
    int a = (v[0] + v[4]) * 8192, b = (v[0] - v[4]) * 8192;
    Odd odd = odd_of(v[7], v[5], v[3], v[1]);
    int even[4] = {a + d, b + c, b - c, a - d}, others[4] = {odd.d, odd.c, odd.b, odd.a};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        v[k] = descaled(even[k] + others[k], bits);
        v[7 - k] = descaled(even[k] - others[k], bits);
    }
}

// ---- pixels to coded blocks

struct Pixel {
    int red, green, blue;

    __device__ int luma() const {
        return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
    }
    __device__ int blue_chroma() const {
        return (-11059 * red - 21709 * green + 32768 * blue + (128 << 16) + 32767) >> 16;
    }
    __device__ int red_chroma() const {
        return (32768 * red - 27439 * green - 5329 * blue + (128 << 16) + 32767) >> 16;
    }
};

__device__ inline Pixel pixel_from(const View& v, const u8* from) {
    return {from[0], from[v.strides[3]], from[2 * v.strides[3]]};
}

// Two by two pixels, of number `quad` within a unit. Those outside repeat the last row and column.
__device__ inline void take_quad(const View& v, Place place, int quad, int* blocks) {
    int down = quad / 8, across = quad % 8, blue = 0, red = 0;
    int high = v.sizes[1], wide = v.sizes[2];
    int row = place.row + 2 * down, column = place.column + 2 * across;
    // Rows of chroma outside repeat the last one, even if that is the mean of two rows.
    int first = 2 * min(row / 2, (high + 1) / 2 - 1);
    i64 step = v.strides[2];
    i64 offsets[2] = {min(column, wide - 1) * step, min(column + 1, wide - 1) * step};
    int* luma = blocks + (down / 4 * 2 + across / 4) * ROOM;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const u8* line = pixel_at<u8>(v, place.frame, min(row + j, high - 1), 0);
        const u8* other = pixel_at<u8>(v, place.frame, min(first + j, high - 1), 0);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            Pixel pixel = pixel_from(v, line + offsets[k]);
            luma[(2 * down + j) % 8 * PITCH + (2 * across + k) % 8] = pixel.luma() - 128;
            if (other != line) pixel = pixel_from(v, other + offsets[k]);
            blue += pixel.blue_chroma(), red += pixel.red_chroma();
        }
    }
    int bias = 1 + across % 2, at = down * PITCH + across;
    blocks[4 * ROOM + at] = ((blue + bias) >> 2) - 128;
    blocks[5 * ROOM + at] = ((red + bias) >> 2) - 128;
}

// A column of coefficients, rounded to multiples of its steps.
__device__ inline void quantise(int* v, const int* steps, const float* inverses) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int step = steps[8 * k];
        // The quotient of integers: those 0.5 more are never near the next integer.
        float size = (float)(abs(v[k]) + 4 * step) + 0.5f;
        int level = (int)(size * inverses[8 * k]);
        v[k] = (v[k] < 0 ? -level : level) * step;
    }
}

KERNEL(jpeg_blocks, 256) {
    __shared__ int blocks[UNITS * 6 * ROOM];
    __shared__ int steps[2 * BLOCK];
    __shared__ float inverses[2 * BLOCK];
    Row r = rows[blockIdx.y];
    Units units = units_of(r.source);
    for (int i = threadIdx.x; i < 2 * BLOCK; i += blockDim.x) {
        steps[i] = min(max((values[i] * r.scale + 50) / 100, 1), 255);
        inverses[i] = 1.0f / (8 * steps[i]);
    }
    for (int first = UNITS * blockIdx.x; first < units.count; first += UNITS * gridDim.x) {
        int here = min(UNITS, units.count - first);
        for (int i = threadIdx.x; i < here * 64; i += blockDim.x)
            take_quad(
                r.source, place_of(units, first + i / 64), i % 64, blocks + i / 64 * 6 * ROOM
            );
        __syncthreads();
        for (int i = threadIdx.x; i < here * 48; i += blockDim.x) {
            int v[8], *line = blocks + i / 8 * ROOM + i % 8 * PITCH;
            for (int k = 0; k < 8; k++) v[k] = line[k];
            forward<true>(v);
            for (int k = 0; k < 8; k++) line[k] = v[k];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < here * 48; i += blockDim.x) {
            int v[8], *line = blocks + i / 8 * ROOM + i % 8;
            int table = (i / 8 % 6 < 4 ? 0 : BLOCK) + i % 8;
            for (int k = 0; k < 8; k++) v[k] = line[k * PITCH];
            forward<false>(v);
            quantise(v, steps + table, inverses + table);
            backward<true>(v);
            for (int k = 0; k < 8; k++) line[k * PITCH] = v[k];
        }
        __syncthreads();
        Four<u8>* out = (Four<u8>*)(r.units + (u64)first * UNIT);
        for (int i = threadIdx.x; i < here * 48; i += blockDim.x) {
            int v[8];
            const int* line = blocks + i / 8 * ROOM + i % 8 * PITCH;
            for (int k = 0; k < 8; k++) v[k] = line[k];
            backward<false>(v);
            Four<u8> halves[2];
            for (int k = 0; k < 8; k++) halves[k / 4].at[k % 4] = (u8)min(max(v[k] + 128, 0), 255);
            out[2 * i] = halves[0], out[2 * i + 1] = halves[1];
        }
        __syncthreads();
    }
}

// ---- coded blocks to pixels

// Where the chroma of four pixels of a row lies in a frame. Rows and columns outside repeat the
// last ones.
struct Chroma {
    int near, far;   // of the nearest rows
    int columns[4];  // of the nearest columns and those beside them
    bool is_narrow;  // libjpeg repeats samples of pictures so narrow

    __device__ Chroma(const Units& units, int row, int column) {
        int high = (units.rows + 1) / 2, wide = (units.columns + 1) / 2, y = row / 2;
        near = line_of(units, y);
        far = line_of(units, row % 2 ? min(y + 1, high - 1) : max(y - 1, 0));
        is_narrow = wide <= 2;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int x = min(max(column / 2 + k - 1, 0), wide - 1);
            columns[k] = x / 8 * UNIT + x % 8;
        }
    }

    __device__ static int line_of(const Units& units, int y) {
        return y / 8 * units.across * UNIT + y % 8 * 8;
    }

    // `blocks`: of one of the two, from the first unit of the frame on.
    __device__ void upsample(const u8* blocks, int* values) const {
        int sums[4];
        if (is_narrow) {
            for (int j = 0; j < 4; j++) values[j] = blocks[near + columns[1 + j / 2]];
            return;
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            sums[k] = 3 * blocks[near + columns[k]] + blocks[far + columns[k]];
#pragma unroll
        for (int k = 1; k < 3; k++) {
            values[2 * k - 2] = (3 * sums[k] + sums[k - 1] + 8) >> 4;
            values[2 * k - 1] = (3 * sums[k] + sums[k + 1] + 7) >> 4;
        }
    }
};

__device__ inline u8 byte_of(int value) { return (u8)min(max(value, 0), 255); }

KERNEL(jpeg_pixels, 256) {
    Row r = rows[blockIdx.y];
    Units units = units_of(r.target);
    int per_frame = (units.rows + 15) / 16 * units.across;
    for (int first = SHOWN * blockIdx.x; first < units.count; first += SHOWN * gridDim.x) {
        for (int i = threadIdx.x; i < SHOWN * 64; i += blockDim.x) {
            // Neighbouring threads make four pixels each of a row of four units.
            int number = first + i % 16 / 4, y = i / 16, x = i % 4 * 4;
            if (number >= units.count) continue;
            Place place = place_of(units, number);
            int row = place.row + y, column = place.column + x;
            if (row >= units.rows || column >= units.columns) continue;
            const u8* frame = (const u8*)r.units + (u64)place.frame * per_frame * UNIT;
            Chroma chroma(units, row, column);
            int blue[4], red[4];
            chroma.upsample(frame + 4 * BLOCK, blue);
            chroma.upsample(frame + 5 * BLOCK, red);
            u64 unit = r.units + (u64)number * UNIT;
            int block = y / 8 * 2 + x / 8;
            Four<u8> luma = *(const Four<u8>*)(unit + block * BLOCK + y % 8 * 8 + x % 8);
            u8 pixels[12];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int light = luma.at[j], b = blue[j] - 128, s = red[j] - 128;
                pixels[3 * j] = byte_of(light + ((91881 * s + 32768) >> 16));
                pixels[3 * j + 1] = byte_of(light + ((-22554 * b - 46802 * s + 32768) >> 16));
                pixels[3 * j + 2] = byte_of(light + ((116130 * b + 32768) >> 16));
            }
            Group group = {place.frame, row, column, min(4, units.columns - column)};
            store<u8, 3>(r.target, group, pixels);
        }
    }
}
