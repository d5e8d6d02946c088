// The loop over the packets of a run on NVDEC, without Python: see compiled_loop.py.
//
// One call of `loop_run` takes all packets of a run. It makes them a byte stream, gives them to
// NVIDIA's parser one by one, each with its rank in presentation order as timestamp, maps the
// pictures that are wanted, and launches the conversion kernel on them. No picture is copied, and
// others are not mapped.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <ffnvcodec/dynlink_loader.h>

namespace {

constexpr int kOutputs = 12;       // pictures that are mapped at a time
constexpr int kDisplayDelay = 3;   // pictures that the parser holds back, so that engines have work
constexpr int kThreads = 256, kBlocks = 1024;  // of a launch, as convert.py has it

CudaFunctions* cuda = nullptr;
CuvidFunctions* cuvid = nullptr;

struct Record {  // how the descriptor of convert.cu begins
    uint64_t luma, destination;
    int64_t chroma_offset, second_chroma_offset, others[4];
    int32_t pitch, format;
};

struct Mapped {
    int64_t number = -1;
    CUdeviceptr address = 0;
    unsigned pitch = 0;
};

}  // namespace

extern "C" {

struct Run {  // the same in compiled_loop.py
    const uint64_t* addresses;  // of the packets
    const int64_t* sizes;
    const int64_t* numbers;  // in presentation order
    int64_t count;
    const uint8_t* head;  // goes in front of the first packet
    int64_t head_size;
    const int64_t* wanted;  // numbers of the pictures that are wanted, ascending
    const int64_t* first_rows;  // of each wanted picture in `rows`, and the end
    const int64_t* rows;  // numbers of records
    int64_t wanted_count;
    const uint8_t* records;
    int64_t record_bytes;
    uint64_t kernel;
    int64_t tiles;
    int64_t length_size;  // bytes of the length in front of each NAL unit, or 0
    int64_t reads_on;  // keep pictures that nobody wants yet
    int64_t flush;  // no packet follows
    int64_t fed, missing;  // results: packets that were fed, wanted pictures that did not come
};

struct Loop {
    CUvideoparser parser = nullptr;
    CUvideodecoder decoder = nullptr;
    CUstream stream = nullptr;
    CUVIDDECODECREATEINFO made{};
    unsigned max_width = 0, max_height = 0;
    uint8_t* table = nullptr;
    int64_t table_rows = 0, row = 0;
    std::vector<Mapped> held;
    std::vector<uint8_t> stream_bytes;
    Run* run = nullptr;
    std::string error;
};

}

namespace {

bool fail(Loop& loop, const char* what, int status) {
    if (loop.error.empty()) loop.error = std::string(what) + ": error " + std::to_string(status);
    return false;
}

bool unmap(Loop& loop, const Mapped& picture) {
    int status = cuvid->cuvidUnmapVideoFrame(loop.decoder, picture.address);
    return status ? fail(loop, "cuvidUnmapVideoFrame", status) : true;
}

bool release_held(Loop& loop) {
    bool is_fine = true;
    for (Mapped& picture : loop.held) is_fine &= unmap(loop, picture);
    loop.held.clear();
    return is_fine;
}

// Until then the decoder may not write into the picture that was mapped, nor into the mapped one.
bool wait(Loop& loop) {
    int status = cuda->cuStreamSynchronize(loop.stream);
    return status ? fail(loop, "cuStreamSynchronize", status) : true;
}

// Position of a picture among the wanted ones, or -1.
int64_t find_wanted(const Run& run, int64_t number) {
    int64_t low = 0, high = run.wanted_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (run.wanted[middle] < number) low = middle + 1;
        else high = middle;
    }
    return low < run.wanted_count && run.wanted[low] == number ? low : -1;
}

bool convert(Loop& loop, Mapped picture, int64_t place) {
    Run& run = *loop.run;
    int64_t first = run.first_rows[place], count = run.first_rows[place + 1] - first;
    if (loop.row + count > loop.table_rows) loop.row = 0;  // far longer than what is converted
    uint8_t* filled = loop.table + loop.row * run.record_bytes;
    for (int64_t row = 0; row < count; ++row) {
        uint8_t* mine = filled + row * run.record_bytes;
        std::memcpy(mine, run.records + run.rows[first + row] * run.record_bytes, run.record_bytes);
        Record record;
        std::memcpy(&record, mine, sizeof record);
        int64_t plane = int64_t(picture.pitch) * ((loop.made.ulTargetHeight + 1) & ~1ul);
        record.luma = picture.address;
        record.chroma_offset = plane;
        record.second_chroma_offset = 2 * plane;
        record.pitch = picture.pitch;
        std::memcpy(mine, &record, sizeof record);
    }
    loop.row += count;
    void* arguments[] = {&filled};
    int64_t blocks = std::min<int64_t>(run.tiles, std::max<int64_t>(1, kBlocks / count));
    if (int status = cuda->cuLaunchKernel(reinterpret_cast<CUfunction>(run.kernel), blocks, count, 1,
                                          kThreads, 1, 1, 0, loop.stream, arguments, nullptr))
        return fail(loop, "cuLaunchKernel", status);
    --run.missing;
    return wait(loop) && unmap(loop, picture);
}

int CUDAAPI on_sequence(void* user, CUVIDEOFORMAT* format) {
    Loop& loop = *static_cast<Loop*>(user);
    CUVIDDECODECREATEINFO info{};
    info.CodecType = format->codec;
    info.ChromaFormat = format->chroma_format;
    info.bitDepthMinus8 = format->bit_depth_luma_minus8;
    bool is_wide = format->bit_depth_luma_minus8 > 0;
    bool is_444 = format->chroma_format == cudaVideoChromaFormat_444;
    info.OutputFormat = is_444 ? (is_wide ? cudaVideoSurfaceFormat_YUV444_16Bit : cudaVideoSurfaceFormat_YUV444)
                               : (is_wide ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12);
    info.DeinterlaceMode = cudaVideoDeinterlaceMode_Weave;
    info.ulCreationFlags = cudaVideoCreate_PreferCUVID;
    info.ulNumDecodeSurfaces = format->min_num_decode_surfaces + kDisplayDelay;
    info.ulNumOutputSurfaces = kOutputs;
    info.ulWidth = format->coded_width;
    info.ulHeight = format->coded_height;
    info.ulMaxWidth = std::max<unsigned>(loop.max_width, format->coded_width);
    info.ulMaxHeight = std::max<unsigned>(loop.max_height, format->coded_height);
    info.display_area = {short(format->display_area.left), short(format->display_area.top),
                         short(format->display_area.right), short(format->display_area.bottom)};
    info.ulTargetWidth = (format->display_area.right - format->display_area.left + 1) & ~1;
    info.ulTargetHeight = (format->display_area.bottom - format->display_area.top + 1) & ~1;
    bool is_same = loop.decoder && loop.made.ulWidth == info.ulWidth &&
                   loop.made.ulHeight == info.ulHeight && loop.made.CodecType == info.CodecType &&
                   loop.made.bitDepthMinus8 == info.bitDepthMinus8 &&
                   loop.made.ulNumDecodeSurfaces >= info.ulNumDecodeSurfaces &&
                   !std::memcmp(&loop.made.display_area, &info.display_area, sizeof info.display_area);
    if (is_same) return loop.made.ulNumDecodeSurfaces;
    if (!release_held(loop)) return 0;
    if (loop.decoder) cuvid->cuvidDestroyDecoder(loop.decoder);
    loop.decoder = nullptr;
    if (int status = cuvid->cuvidCreateDecoder(&loop.decoder, &info)) {
        fail(loop, "cuvidCreateDecoder", status);
        return 0;
    }
    loop.made = info;
    return info.ulNumDecodeSurfaces;
}

int CUDAAPI on_decode(void* user, CUVIDPICPARAMS* picture) {
    Loop& loop = *static_cast<Loop*>(user);
    if (int status = cuvid->cuvidDecodePicture(loop.decoder, picture))
        return fail(loop, "cuvidDecodePicture", status);
    return 1;
}

int CUDAAPI on_display(void* user, CUVIDPARSERDISPINFO* shown) {
    Loop& loop = *static_cast<Loop*>(user);
    if (!shown) return 1;
    int64_t place = find_wanted(*loop.run, shown->timestamp);
    if (place < 0 && !loop.run->reads_on) return 1;
    if (loop.held.size() + 1 >= kOutputs) return fail(loop, "too many pictures are held", 0);
    CUVIDPROCPARAMS how{};
    how.progressive_frame = shown->progressive_frame;
    how.second_field = shown->repeat_first_field + 1;
    how.top_field_first = shown->top_field_first;
    how.unpaired_field = shown->repeat_first_field < 0;
    how.output_stream = loop.stream;
    Mapped picture;
    picture.number = shown->timestamp;
    if (int status = cuvid->cuvidMapVideoFrame(loop.decoder, shown->picture_index, &picture.address,
                                               &picture.pitch, &how))
        return fail(loop, "cuvidMapVideoFrame", status);
    if (place >= 0) return convert(loop, picture, place);
    loop.held.push_back(picture);
    return wait(loop);
}

bool parse(Loop& loop, const uint8_t* data, int64_t size, int64_t number, unsigned long flags) {
    CUVIDSOURCEDATAPACKET packet{};
    packet.flags = flags;
    packet.payload = data;
    packet.payload_size = size;
    packet.timestamp = number;
    int status = cuvid->cuvidParseVideoData(loop.parser, &packet);
    return status ? fail(loop, "cuvidParseVideoData", status) : loop.error.empty();
}

// The packet with start codes in place of lengths, or as it is.
bool feed(Loop& loop, const uint8_t* data, int64_t size, int64_t number, bool is_first) {
    Run& run = *loop.run;
    constexpr unsigned long flags = CUVID_PKT_TIMESTAMP | CUVID_PKT_ENDOFPICTURE;
    if (!run.length_size && !(is_first && run.head_size)) return parse(loop, data, size, number, flags);
    std::vector<uint8_t>& bytes = loop.stream_bytes;
    bytes.clear();
    if (is_first) bytes.insert(bytes.end(), run.head, run.head + run.head_size);
    if (!run.length_size) bytes.insert(bytes.end(), data, data + size);
    for (int64_t place = 0; run.length_size && place + run.length_size < size;) {
        int64_t length = 0;
        for (int64_t k = 0; k < run.length_size; ++k) length = length << 8 | data[place + k];
        place += run.length_size;
        if (length > size - place) return fail(loop, "a NAL unit ends outside its packet", number);
        static const uint8_t code[] = {0, 0, 0, 1};
        bytes.insert(bytes.end(), code, code + 4);
        bytes.insert(bytes.end(), data + place, data + place + length);
        place += length;
    }
    return parse(loop, bytes.data(), bytes.size(), number, flags);
}

}  // namespace

extern "C" {

Loop* loop_create(int codec, unsigned max_width, unsigned max_height, void* stream, void* table,
                  int64_t table_rows) {
    static const bool is_loaded = cuda || (!cuda_load_functions(&cuda, nullptr) && !cuvid_load_functions(&cuvid, nullptr));
    if (!is_loaded) return nullptr;
    Loop* loop = new Loop;
    loop->max_width = max_width;
    loop->max_height = max_height;
    loop->stream = static_cast<CUstream>(stream);
    loop->table = static_cast<uint8_t*>(table);
    loop->table_rows = table_rows;
    CUVIDPARSERPARAMS parameters{};
    parameters.CodecType = static_cast<cudaVideoCodec>(codec);
    parameters.ulMaxNumDecodeSurfaces = 1;  // on_sequence says how many
    parameters.ulMaxDisplayDelay = kDisplayDelay;
    parameters.pUserData = loop;
    parameters.pfnSequenceCallback = on_sequence;
    parameters.pfnDecodePicture = on_decode;
    parameters.pfnDisplayPicture = on_display;
    if (cuvid->cuvidCreateVideoParser(&loop->parser, &parameters)) {
        delete loop;
        return nullptr;
    }
    return loop;
}

// 0, or 1 if it failed: `loop_error` says how. The pictures are converted once the stream is ready.
int loop_run(Loop* loop, Run* run) {
    loop->run = run;
    loop->error.clear();
    run->fed = 0;
    run->missing = run->wanted_count;
    std::vector<Mapped> held;
    held.swap(loop->held);
    for (Mapped& picture : held) {
        int64_t place = find_wanted(*run, picture.number);
        if (place >= 0) {
            if (!convert(*loop, picture, place)) return 1;
        } else if (run->reads_on) {
            loop->held.push_back(picture);
        } else {
            unmap(*loop, picture);
        }
    }
    while (run->fed < run->count && (run->missing > 0 || !run->reads_on)) {
        int64_t place = run->fed++;
        const uint8_t* data = reinterpret_cast<const uint8_t*>(run->addresses[place]);
        if (!feed(*loop, data, run->sizes[place], run->numbers[place], place == 0)) return 1;
    }
    if (run->flush && (run->missing > 0 || !run->reads_on))
        return parse(*loop, nullptr, 0, 0, CUVID_PKT_ENDOFSTREAM) ? 0 : 1;
    return 0;
}

// Behind the last run of a stream: nothing of it is left.
int loop_end(Loop* loop) {
    Run none{};
    loop->run = &none;
    loop->error.clear();
    bool is_fine = parse(*loop, nullptr, 0, 0, CUVID_PKT_ENDOFSTREAM);
    return release_held(*loop) && is_fine ? 0 : 1;
}

const char* loop_error(Loop* loop) { return loop->error.c_str(); }

void loop_destroy(Loop* loop) {
    release_held(*loop);
    cuvid->cuvidDestroyVideoParser(loop->parser);
    if (loop->decoder) cuvid->cuvidDestroyDecoder(loop->decoder);
    delete loop;
}
}
