// Pixels through a matrix, and values through a line; each row of the table has its own.
//
// Macros: SOURCE and TARGET, element types; CHANNELS and TARGET_CHANNELS; ROW_BYTES.

const int MOST = 4;  // channels

struct Row {
    View source, target;
    float factors[MOST][MOST], offsets[MOST];
};
static_assert(sizeof(Row) == ROW_BYTES, "the table of color_on_gpu.py");

typedef Element<SOURCE> From;
typedef Element<TARGET> To;

// Pixel = factors * pixel + offsets.
KERNEL(mix, 256) {
    Row r = rows[blockIdx.y];
    merge_rows(r.source, r.target);
    Groups groups = groups_of(r.source);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group place = group_at(groups, i);
        From::Stored pixels[4 * CHANNELS] = {};
        load<From::Stored, CHANNELS>(r.source, place, pixels);
        To::Stored mixed[4 * TARGET_CHANNELS];
        for (int j = 0; j < 4; j++) {
            float in[CHANNELS];
            for (int c = 0; c < CHANNELS; c++) in[c] = From::decode(pixels[CHANNELS * j + c]);
            for (int k = 0; k < TARGET_CHANNELS; k++) {
                float sum = r.offsets[k];
                for (int c = 0; c < CHANNELS; c++) sum = fmaf(r.factors[k][c], in[c], sum);
                mixed[TARGET_CHANNELS * j + k] = To::encode(sum);
            }
        }
        store<To::Stored, TARGET_CHANNELS>(r.target, place, mixed);
    }
}

// Value = factors[0][0] * value + offsets[0].
KERNEL(scale, 256) {
    Row r = rows[blockIdx.y];
    merge_rows(r.source, r.target);
    Groups groups = groups_of(r.source);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups.count; i += step) {
        Group place = group_at(groups, i);
        From::Stored values[4 * CHANNELS] = {};
        load<From::Stored, CHANNELS>(r.source, place, values);
        To::Stored scaled[4 * CHANNELS];
        for (int k = 0; k < 4 * CHANNELS; k++)
            scaled[k] = To::encode(From::decode(values[k]) * r.factors[0][0] + r.offsets[0]);
        store<To::Stored, CHANNELS>(r.target, place, scaled);
    }
}
