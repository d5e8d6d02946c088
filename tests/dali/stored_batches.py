"""What a reader gives in an epoch, sample by sample."""

from videoloader.dali.pipeline import pipeline_def


def read_epoch(reader, batches=None, **arguments):
    """For each sample of an epoch its outputs as arrays, in batches of one."""

    def define():
        outputs = reader(name="reader", **arguments)
        if isinstance(outputs, dict):
            outputs = tuple(outputs.values())
        return outputs

    with pipeline_def(define)(batch_size=1, num_threads=2) as pipe:
        count = pipe.epoch_size("reader") if batches is None else batches
        return [[output[0].numpy() for output in pipe.run()] for _ in range(count)]
