"""Whole models, each in one file that can be read from top to bottom; and GPT-2's weights and tokens, from files."""

from tensorgrad.models.gpt import GPT, Attention, Block, GPTConfig, MultilayerPerceptron
from tensorgrad.models.pretrained import save_pretrained
from tensorgrad.models.tokenizer import GPT2Tokenizer

__all__ = ["GPT", "Attention", "Block", "GPT2Tokenizer", "GPTConfig", "MultilayerPerceptron", "save_pretrained"]
