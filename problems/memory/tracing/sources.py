"""Sources of models for `corl trace`: the models in models/, a user's function, and architectures of transformers."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from corl.errors import InputError, UsageError, described
from corl.problems.memory.tracing.models import MODELS, build

__all__ = ["DTYPES", "Source", "check_size", "load"]

DTYPES = Literal["", "float32", "float16", "bfloat16"]


class Source(NamedTuple):
    """A model and its example inputs."""

    model: Any
    """A torch.nn.Module."""
    inputs: Sequence[Any]
    """Positional inputs."""
    keywords: Mapping[str, Any]
    """Keyword inputs."""
    name: str
    """The instance's name."""


def load(model: str, batch: int, dtype: DTYPES, tokens: int) -> Source:
    """Return a model and its inputs. Raises InputError or UsageError.

    Args:
        model: A name in MODELS, MODULE:FUNCTION (a user's function), or the name of an architecture of transformers.
        batch: The batch size.
        dtype: The type of floating-point numbers; "": bfloat16, or for a user's function the model's own type.
        tokens: The number of tokens of inputs, for architectures of transformers.
    """
    check_size("batch", batch)
    check_size("tokens", tokens)
    if model in MODELS:
        made, inputs = build(model, batch)
        return _cast(Source(made, inputs, {}, f"{model}-b{batch}"), dtype or "bfloat16")
    if ":" in model:
        source = _from_function(model, batch)
        return _cast(source, dtype) if dtype else source
    return _cast(_from_transformers(model, batch, tokens), dtype or "bfloat16")


def check_size(name: str, size: int) -> None:
    """Raise UsageError for a size outside the accepted range."""
    if not 1 <= size <= 2**20:
        raise UsageError(f"{name}: {size} is not accepted; accepted: 1 to {2**20:,}")


def _cast(source: Source, dtype: str) -> Source:
    """Return the source with its model and floating-point inputs converted to a type."""
    import torch
    from torch.utils._pytree import tree_map_only

    kind = getattr(torch, dtype)
    parts = (list(source.inputs), dict(source.keywords))
    inputs, keywords = tree_map_only(torch.Tensor, lambda t: t.to(kind) if t.is_floating_point() else t, parts)
    return Source(source.model.to(kind), inputs, keywords, source.name)


# -------------------------------------------------------------------- a user's function
def _from_function(model: str, batch: int) -> Source:
    """Call MODULE:FUNCTION or FILE.py:FUNCTION, which returns (module, inputs), and return the source.

    The function gets `batch` if it has a parameter of that name.
    """
    import torch

    where, _, name = model.rpartition(":")
    function = getattr(_imported(where, model), name, None)
    if not callable(function):
        raise InputError(f"no function {name!r}; accepted: one that returns (torch.nn.Module, example inputs)", field=model)
    takes = "batch" in inspect.signature(function).parameters
    try:
        made = function(batch=batch) if takes else function()
    except Exception as error:
        raise InputError(f"the function fails: {_line(error)}", field=model) from error
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[0], torch.nn.Module):
        raise InputError("does not return (torch.nn.Module, example inputs)", field=model)
    network, inputs = made
    keywords = inputs if isinstance(inputs, Mapping) else {}
    given = () if keywords else inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    return Source(network, given, keywords, f"{name}-b{batch}" if takes else name)


def _imported(where: str, model: str) -> Any:
    """Import a Python module by name, also from the current folder, or by its file's path. Raises InputError."""
    path = Path(where)
    folder, name = (str(path.parent.resolve()), path.stem) if path.suffix == ".py" else (os.getcwd(), where)
    if path.suffix == ".py" and not path.is_file():
        raise InputError("there is no such file", file=where)
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise InputError(f"{name!r} cannot be imported: {_line(error)}", field=model) from error
    finally:
        sys.path.remove(folder)


# -------------------------------------------------------------------- architectures of transformers
def _from_transformers(model: str, batch: int, tokens: int) -> Source:
    """Return a model of transformers, by its class (BertModel) or model type (bert), and its main input.

    The model has its default configuration, no weights, and eager attention, in which the scores are a tensor of the program.
    """
    import torch

    accepted = f"accepted: {', '.join(MODELS)}, MODULE:FUNCTION, a file .onnx, or an architecture of transformers (BertModel)"
    try:
        import transformers
    except ImportError as error:
        raise InputError(f"no model {model!r} is known; {accepted}, which need (in a checkout) pip install '.[trace]'") from error
    architecture, config = _architecture(transformers, model)
    if architecture is None:
        raise InputError(f"no model {model!r} is known; {accepted}")
    config.use_cache = False
    try:
        with torch.device("meta"):
            network = architecture._from_config(config, attn_implementation="eager").eval()
            keywords = _example(architecture, config, batch, tokens)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"cannot be created from its default configuration: {_line(error)}", field=model) from error
    return Source(network, (), keywords, f"{model}-b{batch}")


def _architecture(transformers: Any, model: str) -> tuple[Any, Any]:
    """Return a model's class and its default configuration; (None, None) if the name is unknown."""
    architecture: Any = getattr(transformers, model, None)
    configuration = getattr(architecture, "config_class", None) if isinstance(architecture, type) else None
    if configuration is not None:
        return architecture, configuration()
    try:
        config = transformers.AutoConfig.for_model(model)
        return transformers.AutoModel._model_mapping[type(config)], config
    except (KeyError, ValueError):
        return None, None


def _example(architecture: Any, config: Any, batch: int, tokens: int) -> dict[str, Any]:
    """Return the main input of the architecture: tokens, or pictures of the configured size."""
    import torch

    name = architecture.main_input_name
    if name == "input_ids":
        inputs = {name: torch.empty((batch, tokens), dtype=torch.int64)}
        if getattr(config, "is_encoder_decoder", False):
            inputs["decoder_input_ids"] = torch.empty((batch, tokens), dtype=torch.int64)
        return inputs
    if name == "pixel_values":
        side = getattr(config, "image_size", 224)
        sides = tuple(side) if isinstance(side, (list, tuple)) else (side, side)
        return {name: torch.empty((batch, getattr(config, "num_channels", 3), *sides))}
    raise InputError(f"its main input is {name}; accepted: input_ids, pixel_values, or a MODULE:FUNCTION of your own")


def _line(error: BaseException) -> str:
    """Return an error's description as one short line."""
    return " ".join(described(error).split())[:300]
