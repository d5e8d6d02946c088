"""Every reader of stored samples: importing this declares them."""

import videoloader.readers.arrays
import videoloader.readers.caffe
import videoloader.readers.coco
import videoloader.readers.file_contents
import videoloader.readers.files
import videoloader.readers.frame_folders
import videoloader.readers.nemo_asr
import videoloader.readers.npy_decoding
import videoloader.readers.recordio
import videoloader.readers.tfrecords
import videoloader.readers.webdataset  # noqa: F401
