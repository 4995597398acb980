"""What every source of prompts keeps. Found by itself: a new file in ``load/sources`` is held by this."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from tokenizers import Tokenizer as HfTokenizer
from tokenizers import models, pre_tokenizers

from shakedown.domain.errors import UserError
from shakedown.domain.workload import Workload
from shakedown.load.prompts import PromptSource, prompt_source, source_kinds
from shakedown.load.text import GENRES, passages
from shakedown.load.tokenizers import EstimatingTokenizer, FileTokenizer, Tokenizer

WORDS = {
    "text": ["text", "text:prose", "text:code", "text:chat"],
    "random-tokens": ["random-tokens"],
    "repeating": ["repeating"],
    "shared-prefix": ["shared-prefix:3", "shared-prefix:2:40"],
    "sessions": ["sessions:3", "sessions:2:50ms"],
    "jsonl": ["jsonl:{folder}/prompts.jsonl"],
    "sharegpt": ["sharegpt:{folder}/sharegpt.json"],
    "trace": ["trace:{folder}/trace.jsonl"],
}
"""Words that each kind must understand; a new kind adds its own."""

CASES = [word for words in WORDS.values() for word in words]
MADE_LENGTH = 120
MADE = [case for case in CASES if case.split(":")[0] in {"text", "random-tokens", "repeating", "shared-prefix"}]
SIZE = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts")
    rows = [{"prompt": f"question {number}", "output_len": 5 + number} for number in range(SIZE)]
    rows[0] = {"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}]}
    (folder / "prompts.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    talks = [
        {"conversations": [{"from": "human", "value": f"ask {n}"}, {"from": "gpt", "value": "a reply " * n}]}
        for n in range(1, SIZE + 1)
    ]
    (folder / "sharegpt.json").write_text(json.dumps([*talks, {"conversations": []}]))
    trace = [
        {"timestamp": 100 * n, "input_length": 1100 + n, "output_length": 3, "hash_ids": [0, 1 + n % 2, 50 + n]}
        for n in range(SIZE)
    ]
    (folder / "trace.jsonl").write_text("\n".join(json.dumps(row) for row in trace))
    return folder


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer file: words and signs apart, a token each; made here so that no download is needed."""
    corpus = "\n".join(part for genre in GENRES for part in passages(genre))
    split = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    pieces = sorted({piece for piece, _ in split.pre_tokenize_str(corpus)})
    made = HfTokenizer(models.WordLevel({piece: number for number, piece in enumerate(["?", *pieces])}, unk_token="?"))
    made.pre_tokenizer = split
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(file))
    return FileTokenizer(str(file))


def opened(word: str, folder: Path, tokenizer: Tokenizer, *, salt: str = "a", seed: int = 0) -> PromptSource:
    workload = Workload(
        name="w", prompts=(word.format(folder=folder),), input_tokens=MADE_LENGTH, output_tokens=9, seed=seed
    )
    return prompt_source(workload, tokenizer, salt=salt)


def test_every_kind_is_in_this_suite() -> None:
    assert set(source_kinds()) == set(WORDS)
    assert all(kind.example.startswith(name) for name, kind in source_kinds().items())


@pytest.mark.parametrize("word", CASES)
def test_deterministic_and_never_the_same_twice(word: str, folder: Path, tokenizer: Tokenizer) -> None:
    prompts = opened(word, folder, tokenizer).take(SIZE)
    again = opened(word, folder, tokenizer)
    assert prompts == [prompt for _ in range(SIZE // 4) for prompt in again.take(4)]
    assert len({prompt.digest for prompt in prompts}) == SIZE
    assert all(prompt.text and prompt.output_tokens >= 1 for prompt in prompts)


@pytest.mark.parametrize("word", MADE)
def test_another_salt_or_seed_gives_other_prompts(word: str, folder: Path, tokenizer: Tokenizer) -> None:
    one = {prompt.digest for prompt in opened(word, folder, tokenizer).take(10)}
    for other in (opened(word, folder, tokenizer, salt="b"), opened(word, folder, tokenizer, seed=1)):
        assert one.isdisjoint(prompt.digest for prompt in other.take(10))


@pytest.mark.parametrize("word", MADE)
def test_made_prompts_have_the_exact_length(word: str, folder: Path, tokenizer: Tokenizer) -> None:
    for prompt in opened(word, folder, tokenizer).take(5):
        counted = len(prompt.token_ids) if prompt.token_ids is not None else tokenizer.count(prompt.text)
        assert counted == prompt.input_tokens == MADE_LENGTH


@pytest.mark.parametrize("word", MADE)
def test_without_a_tokenizer_lengths_are_not_claimed(word: str, folder: Path) -> None:
    for prompt in opened(word, folder, EstimatingTokenizer()).take(3):
        assert prompt.input_tokens is None
        assert abs(EstimatingTokenizer().count(prompt.text) - MADE_LENGTH) <= 4


@pytest.mark.parametrize("word", [case for case in MADE if not case.startswith("shared-prefix")])
def test_prompts_part_within_their_first_words(word: str, folder: Path, tokenizer: Tokenizer) -> None:
    starts = [prompt.text[:16] for prompt in opened(word, folder, tokenizer).take(20)]
    assert len(set(starts)) == 20


def test_groups_share_their_prefix_and_nothing_more(folder: Path, tokenizer: Tokenizer) -> None:
    prompts = opened("shared-prefix:2:60", folder, tokenizer).take(6)
    first, second = prompts[::2], prompts[1::2]
    assert len({prompt.text[:150] for prompt in first}) == 1
    assert first[0].text[:20] != second[0].text[:20]
    assert len({prompt.text[-60:] for prompt in first}) == 3


def test_files_come_around_after_their_end(folder: Path, tokenizer: Tokenizer) -> None:
    source = opened("jsonl:{folder}/prompts.jsonl", folder, tokenizer)
    first = [prompt.digest for prompt in source.take(SIZE)]
    assert [prompt.digest for prompt in source.take(SIZE)] == first


def test_files_give_their_own_lengths(folder: Path, tokenizer: Tokenizer) -> None:
    rows = {prompt.text: prompt for prompt in opened("jsonl:{folder}/prompts.jsonl", folder, tokenizer).take(SIZE)}
    assert rows["question 7"].output_tokens == 12
    assert rows["be brief\n\nhello"].messages is not None
    assert rows["be brief\n\nhello"].output_tokens == 9
    talks = {prompt.text: prompt for prompt in opened("sharegpt:{folder}/sharegpt.json", folder, tokenizer).take(SIZE)}
    assert talks["ask 30"].output_tokens == 60


def test_a_trace_has_its_times_lengths_and_shared_blocks(folder: Path, tokenizer: Tokenizer) -> None:
    prompts = opened("trace:{folder}/trace.jsonl", folder, tokenizer).take(4)
    assert [prompt.at_s for prompt in prompts] == [0.0, 0.1, 0.2, 0.3]
    assert [prompt.input_tokens for prompt in prompts] == [1100, 1101, 1102, 1103]
    assert all(tokenizer.count(prompt.text) == prompt.input_tokens for prompt in prompts)

    def shared(a: int, b: int) -> int:
        same = 0
        for left, right in zip(prompts[a].text, prompts[b].text, strict=False):
            if left != right:
                break
            same += 1
        return tokenizer.count(prompts[a].text[:same])

    assert 512 <= shared(0, 1) < 530
    assert 1024 <= shared(0, 2) < 1040


def test_sessions_carry_their_further_turns(folder: Path, tokenizer: Tokenizer) -> None:
    (session,) = opened("sessions:3:50ms", folder, tokenizer).take(1)
    assert len(session.follow_ups) == 2
    assert session.think_s == pytest.approx(0.05)


def test_several_sources_alternate(folder: Path, tokenizer: Tokenizer) -> None:
    workload = Workload(name="w", prompts=("random-tokens", "text:code"), input_tokens=20)
    prompts = prompt_source(workload, tokenizer, salt="a").take(4)
    assert [prompt.token_ids is not None for prompt in prompts] == [True, False, True, False]


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("txt", "did you mean 'text'"),
        ("text:poems", "text:prose"),
        ("random-tokens:5", "takes no argument"),
        ("repeating:5", "takes no argument"),
        ("jsonl", "a file is missing"),
        ("jsonl:{folder}/none", "cannot be read"),
        ("jsonl:{folder}/bad.jsonl", "bad.jsonl:2: not JSON"),
        ("jsonl:{folder}/list.jsonl", "list.jsonl:1: expected a JSON object"),
        ("jsonl:{folder}/keys.jsonl", "keys.jsonl:1: expected 'prompt'"),
        ("jsonl:{folder}/empty.jsonl", "holds no prompt"),
        ("sharegpt:{folder}/empty.jsonl", "not JSON"),
        ("sharegpt:{folder}/list.jsonl", "no conversation"),
        ("trace:{folder}/keys.jsonl", "keys.jsonl:1: timestamp"),
        ("shared-prefix:0", "at least one group"),
        ("shared-prefix:2:500", "fewer tokens"),
        ("sessions:x", "sessions:TURNS"),
    ],
)
def test_what_cannot_be_used_is_named(word: str, says: str, folder: Path, tokenizer: Tokenizer) -> None:
    (folder / "bad.jsonl").write_text('{"prompt": "a"}\n{oops\n')
    (folder / "list.jsonl").write_text("[1, 2]\n")
    (folder / "keys.jsonl").write_text('{"question": "a"}\n')
    (folder / "empty.jsonl").write_text("\n")
    with pytest.raises(UserError) as caught:
        opened(word, folder, tokenizer)
    assert says in str(caught.value)


def test_a_thousand_prompts_of_a_thousand_tokens_share_no_beginning_that_a_cache_could_keep() -> None:
    workload = Workload(name="w", prompts=("text",), input_tokens=1000, output_tokens=1)
    prompts = prompt_source(workload, EstimatingTokenizer(), salt="s").take(1000)
    texts = sorted(prompt.text for prompt in prompts)
    assert all(first[:64] != second[:64] for first, second in pairwise(texts))  # a block of the smallest caches
    assert min(map(len, texts)) > 3000
