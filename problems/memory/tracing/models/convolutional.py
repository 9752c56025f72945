"""AlexNet (Krizhevsky 2014, in one tower), ResNet-50 (He et al. 2015) and U-Net (Ronneberger et al. 2015).

ResNet-50's strides are in the 3 x 3 convolutions, as in torchvision.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["AlexNet", "ResNet50", "UNet"]


class AlexNet(nn.Sequential):
    """AlexNet for pictures of 224 x 224 and 1000 classes, in one tower (the original network had two)."""

    def __init__(self) -> None:
        def block(before: int, after: int, kernel: int, stride: int = 1, padding: int = 1, pool: bool = False) -> nn.Sequential:
            layers = [nn.Conv2d(before, after, kernel, stride, padding), nn.ReLU(inplace=True)]
            return nn.Sequential(*layers, *([nn.MaxPool2d(3, 2)] if pool else []))

        super().__init__(
            block(3, 64, 11, 4, 2, pool=True),
            block(64, 192, 5, 1, 2, pool=True),
            block(192, 384, 3),
            block(384, 256, 3),
            block(256, 256, 3, pool=True),
            nn.Flatten(),
            nn.Linear(9216, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, 1000),
        )


class _Bottleneck(nn.Module):
    """A bottleneck block: 1 x 1, 3 x 3 and 1 x 1 convolutions, and a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu_(self.bn1(self.conv1(x)))
        y = torch.relu_(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += self.shortcut(x)
        return torch.relu_(y)


class ResNet50(nn.Module):
    """ResNet-50 for pictures of 224 x 224 and 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels, stages = 64, []
        for k, (width, depth) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
            blocks = []
            for block in range(depth):
                blocks.append(_Bottleneck(channels, width, 2 if k and not block else 1))
                channels = 4 * width
            stages.append(nn.Sequential(*blocks))
        self.layers = nn.Sequential(*stages)
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.classifier(self.layers(self.pool(self.stem(x))).mean((2, 3)))
        return y


def _double(before: int, after: int) -> nn.Sequential:
    """Return two padded 3 x 3 convolutions with batch normalisation."""
    layers: list[nn.Module] = []
    for channels in (before, after):
        layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """U-Net with 64 to 1024 channels: four downsampling and four upsampling steps, with skip connections by concatenation."""

    def __init__(self, width: int = 64, depth: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width * 2**k for k in range(depth + 1)]
        self.down = nn.ModuleList(_double(before, after) for before, after in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * after, after, 2, 2) for after in widths[-2::-1])
        self.join = nn.ModuleList(_double(2 * after, after) for after in widths[-2::-1])
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for k, block in enumerate(self.down):
            x = block(self.pool(x) if k else x)
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([skips.pop(), up(x)], 1))
        y: Tensor = self.head(x)
        return y
