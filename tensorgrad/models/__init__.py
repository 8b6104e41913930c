"""Whole models, each in one file that can be read from top to bottom."""

from tensorgrad.models.gpt import GPT, Attention, Block, GPTConfig, MultilayerPerceptron

__all__ = ["GPT", "Attention", "Block", "GPTConfig", "MultilayerPerceptron"]
