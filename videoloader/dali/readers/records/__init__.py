"""Readers of records and archives: TFRecord, RecordIO, LMDB, WebDataset."""
