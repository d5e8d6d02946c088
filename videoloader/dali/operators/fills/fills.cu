// Copies the bytes of frames, and fills boxes or the squares of a grid with one colour.
//
// Macros: SIZE, bytes of an element; CHANNELS; ROW_BYTES.

const int MOST = 4;  // channels

struct Row {
    View source, target;
    u64 fill[MOST];   // of each channel: the bytes of an element, and zeros
    int first, count;  // of its boxes among the values
    float sin, cos, across, down, ratio;  // of a grid, in tiles; see `is_square`
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of fills_on_gpu.py");

struct Box {
    int start[4], stop[4];  // frames, rows, columns, channels
};

typedef Bits<SIZE>::Type Stored;

__device__ inline bool is_between(int place, const Box& box, int dim) {
    return place >= box.start[dim] && place < box.stop[dim];
}

KERNEL(erase, 256) {
    Row r = rows[blockIdx.y];
    const Box* boxes = (const Box*)values + r.first;
    Groups groups = groups_of(r.source);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        Stored pixels[4 * CHANNELS] = {};
        load<Stored, CHANNELS>(r.source, group, pixels);
        for (int k = 0; k < r.count; k++) {
            const Box& box = boxes[k];
            if (!is_between(group.frame, box, 0) || !is_between(group.row, box, 1)) continue;
            for (int j = 0; j < 4; j++) {
                if (!is_between(group.column + j, box, 2)) continue;
                for (int c = 0; c < CHANNELS; c++)
                    if (is_between(c, box, 3)) pixels[CHANNELS * j + c] = (Stored)r.fill[c];
            }
        }
        store<Stored, CHANNELS>(r.target, group, pixels);
    }
}

__device__ inline bool is_square(const Row& r, float row, float column) {
    float across = column * r.cos - row * r.sin - r.across;
    float down = column * r.sin + row * r.cos - r.down;
    return across - floorf(across) < r.ratio && down - floorf(down) < r.ratio;
}

KERNEL(grid_mask, 256) {
    Row r = rows[blockIdx.y];
    Groups groups = groups_of(r.source);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        Stored pixels[4 * CHANNELS] = {};
        load<Stored, CHANNELS>(r.source, group, pixels);
        for (int j = 0; j < 4; j++)
            if (is_square(r, group.row, group.column + j))
                for (int c = 0; c < CHANNELS; c++) pixels[CHANNELS * j + c] = 0;
        store<Stored, CHANNELS>(r.target, group, pixels);
    }
}
