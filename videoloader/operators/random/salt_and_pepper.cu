// Salt-and-pepper noise: some elements, or whole pixels, get one of two values. Copies bytes only.
//
// Random numbers equal those of numpy's Philox generator; each is computed by its index: number n
// is word n % 4 of block n / 4. Macros: SIZE, bytes of an element; CHANNELS; ROW_BYTES.

struct Row {
    View source, target;
    u64 counter[4], key[2];   // of the generator before it draws
    double prob, salt_share;
    u64 salt, pepper;         // the bytes of an element
    i64 order[4], count;      // number that a frame, row, column, channel adds; numbers of the first kind
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of noise.py");

typedef Bits<SIZE>::Type Stored;

struct Block {
    u64 number;  // of a block, ~0 at first
    u64 words[4];
};

// Philox4x64 with 10 rounds.
__device__ inline void draw_block(const Row& r, Block& block) {
    u64 a = r.counter[0] + block.number + 1, k = r.key[0], l = r.key[1];
    u64 b = r.counter[1] + (a < r.counter[0]), c = r.counter[2], d = r.counter[3];
    for (int round = 0; round < 10; round++) {
        const u64 first = 0xD2E7470EE14C6C93ull, second = 0xCA5A826395121157ull;
        u64 high = __umul64hi(first, a), low = first * a;
        u64 other_high = __umul64hi(second, c), other_low = second * c;
        a = other_high ^ b ^ k, b = other_low, c = high ^ d ^ l, d = low;
        k += 0x9E3779B97F4A7C15ull, l += 0xBB67AE8584CAA73Bull;
    }
    block.words[0] = a, block.words[1] = b, block.words[2] = c, block.words[3] = d;
}

// A number from 0 to 1, 53 bits of it; `block` is kept for the next one.
__device__ inline double draw(const Row& r, Block& block, i64 number) {
    if (block.number != (u64)number / 4) {
        block.number = (u64)number / 4;
        draw_block(r, block);
    }
    u64 even = number & 2 ? block.words[2] : block.words[0];
    u64 odd = number & 2 ? block.words[3] : block.words[1];
    return (double)((number & 1 ? odd : even) >> 11) * (1.0 / 9007199254740992.0);
}

KERNEL(salt_and_pepper, 256) {
    Row r = rows[blockIdx.y];
    Groups groups = groups_of(r.target);
    Block hits = {~0ull, {}}, salts = {~0ull, {}};
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        Stored pixels[4 * CHANNELS] = {};
        load<Stored, CHANNELS>(r.source, group, pixels);
        i64 first = group.frame * r.order[0] + group.row * r.order[1];
        for (int j = 0; j < group.count; j++)
            for (int c = 0; c < CHANNELS; c++) {
                i64 number = first + (group.column + j) * r.order[2] + c * r.order[3];
                if (draw(r, hits, number) >= r.prob) continue;
                bool is_salt = draw(r, salts, r.count + number) < r.salt_share;
                pixels[CHANNELS * j + c] = (Stored)(is_salt ? r.salt : r.pepper);
            }
        store<Stored, CHANNELS>(r.target, group, pixels);
    }
}
