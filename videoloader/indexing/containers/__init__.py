"""One module or folder for each container that is indexed without a demuxer."""
