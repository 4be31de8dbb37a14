"""No augmentation."""
