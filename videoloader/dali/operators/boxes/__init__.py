"""Operators on bounding boxes, anchors and segmentation masks."""
