"""`DataLoader`: torch's, with the data of a server in its batches."""

from __future__ import annotations

from typing import Any

from torch.utils import data

from videoloader.plugin.pytorch.proxy.server import Server

__all__ = ["DataLoader"]


class DataLoader(data.DataLoader[Any]):
    """torch's DataLoader, whose batches have tensors in place of the references of a proxy.

    Workers run the data set and collate, and send references. This process runs the pipeline, some
    batches ahead of the training loop, in the order of the loader.

    Args:
        dali_server: whose proxy the data set calls. Proxies of other servers may occur as well.
        *args: of torch's DataLoader, from `dataset` on.
        ahead: batches on their way while one is used, see `Server.iterate`.
        **kwargs: of torch's DataLoader.
    """

    def __init__(
        self, dali_server: Server, *args: Any, ahead: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.dali_server = dali_server
        self.ahead = ahead

    def __iter__(self) -> Any:
        self.dali_server.start_thread()
        return self.dali_server.iterate(super().__iter__(), ahead=self.ahead)
