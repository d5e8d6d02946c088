// Pastes regions of frames on a canvas of one colour; later regions cover earlier ones.
//
// Macros: SIZE, bytes of an element that is copied unchanged; or 0 with SOURCE and TARGET, element
// types; CHANNELS; ROW_BYTES.

const int MOST = 4;  // channels

struct Row {
    View source, target;
    u64 fill[MOST];    // of each channel: the bytes of an element, and zeros
    int first, count;  // of its regions among the values; those behind lie over those before
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of paste_on_gpu.py");

struct Region {
    View pixels;
    int top, left;  // on the canvas
};
static_assert(sizeof(Region) == REGION_BYTES, "the regions of paste_on_gpu.py");

#if SIZE
typedef Bits<SIZE>::Type From;
typedef From To;
__device__ inline To converted(From value) { return value; }
#else
typedef Element<SOURCE>::Stored From;
typedef Element<TARGET>::Stored To;
__device__ inline To converted(From value) {
    return Element<TARGET>::encode(Element<SOURCE>::decode(value));
}
#endif

// Writes what a region has of a group into the pixels that are not `done`; whether they all are now.
__device__ inline bool paste_group(const Region& region, Group group, To* pixels, bool* done) {
    const View& v = region.pixels;
    int row = group.row - region.top, column = group.column - region.left;
    if (row < 0 || row >= v.sizes[1]) return false;
    int begin = max(0, -column), end = min(group.count, v.sizes[2] - column);
    if (begin >= end) return false;
    From values[4 * CHANNELS] = {};
    // A pixel alone is a group too.
    if (end - begin == group.count) {
        load<From, CHANNELS>(v, {group.frame, row, column, group.count}, values);
    } else {
        for (int j = begin; j < end; j++)
            load<From, CHANNELS>(v, {group.frame, row, column + j, 1}, values + CHANNELS * j);
    }
    bool all = true;
    for (int j = 0; j < group.count; j++) {
        if (!done[j] && j >= begin && j < end) {
            for (int c = 0; c < CHANNELS; c++)
                pixels[CHANNELS * j + c] = converted(values[CHANNELS * j + c]);
            done[j] = true;
        }
        all = all && done[j];
    }
    return all;
}

KERNEL(paste, 256) {
    Row r = rows[blockIdx.y];
    const Region* regions = (const Region*)values + r.first;
    Groups groups = groups_of(r.target);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group group = group_at(groups, i);
        To pixels[4 * CHANNELS];
        bool done[4] = {};
        for (int k = 0; k < 4 * CHANNELS; k++) pixels[k] = (To)r.fill[k % CHANNELS];
        for (int k = r.count - 1; k >= 0; k--)
            if (paste_group(regions[k], group, pixels, done)) break;
        store<To, CHANNELS>(r.target, group, pixels);
    }
}
