"""What an error that no signature knows is about, layer by layer."""

import pytest

from shakedown.diagnose.exceptions import category_of, of_what_was_loaded
from shakedown.domain.words import Category


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("gizmo: CUDA_ERROR_ILLEGAL_ADDRESS in gizmo.cu", Category.KERNEL_FAULT),
        ("gizmo failed: cudaErrorNoKernelImageForDevice", Category.ARCH_MISMATCH),
        ("gizmo failed: CUBLAS_STATUS_ALLOC_FAILED", Category.DEVICE_OUT_OF_MEMORY),
        ("ncclSystemError: gizmo", Category.COMMUNICATION),
        ("node:1:2 [0] gizmo.cc:1 NCCL WARN gizmo", Category.COMMUNICATION),
        ("NCCL WARN Cuda failure 2 'out of memory'", Category.DEVICE_OUT_OF_MEMORY),
        ("vk::Queue::submit: ErrorDeviceLost", Category.KERNEL_FAULT),
        ("[Errno 98] gizmo", Category.PORT_IN_USE),
        ("[Errno 13] gizmo", Category.ENVIRONMENT_MISMATCH),
        ("gizmo exited with code -9", Category.HOST_OUT_OF_MEMORY),
        ("gizmo exited with code -11", Category.KERNEL_FAULT),
        ("401 Client Error: Unauthorized for url: https://huggingface.co/a/b", Category.MODEL_FILES),
        ("<Response [502]> from gizmo", Category.NETWORK_PROXY),
        ("libgizmo.so: undefined symbol: _ZN5gizmo", Category.ENVIRONMENT_MISMATCH),
        ("gizmo: error: argument --gizmo: invalid choice: 'x'", Category.BAD_ARGUMENTS),
        ("gizmo.cpp:3: GGML_ASSERT(gizmo) failed", Category.KERNEL_FAULT),
        ("missing gizmo-gen kernel (gizmo)", Category.ARCH_MISMATCH),
        ("TMA kernels unavailable for GizmoMoE on current platform", Category.ARCH_MISMATCH),
        ("timed out waiting for engines to turn", Category.HANG),
        ("7 is not divisible by 4", Category.QUANTIZATION),
        ("failed to initialize CUDA: gizmo", Category.ENVIRONMENT_MISMATCH),
        ("gizmo turned", None),
    ],
)
def test_codes_and_shapes_say_what_a_line_is_about(message: str, category: Category | None) -> None:
    assert category_of("", message) is category


FRAME = "/opt/venv/lib/python3.12/site-packages/vllm/v1/spec_decode/eagle.py propose"


def test_a_code_goes_before_the_place_and_the_place_before_words_in_passing() -> None:
    assert category_of("RuntimeError", "CUDA_ERROR_OUT_OF_MEMORY", [FRAME]) is Category.DEVICE_OUT_OF_MEMORY
    assert category_of("RuntimeError", "mat1 and mat2 must have the same dtype", [FRAME]) is Category.SPECULATION
    assert category_of("RuntimeError", "mat1 and mat2 must have the same dtype") is Category.KERNEL_FAULT


def test_the_type_speaks_where_nothing_else_does() -> None:
    assert category_of("KeyError", "gizmo") is Category.MODEL_FILES
    assert category_of("GizmoError", "gizmo") is None


def test_the_name_of_a_model_says_nothing_of_its_failure() -> None:
    for name in ("/models/Gizmo-7B-GPTQ-Int4/", "gizmo-org/Gizmo-7B-FP8", "'org/gizmo-nvfp4'"):
        assert category_of("", f"cannot list the repository {name}") is Category.MODEL_FILES


def test_an_exception_that_could_not_be_passed_on_is_named_by_its_own_type() -> None:
    message = "BackendCompilerFailed.__init__() missing 1 required positional argument: 'inner_exception'"
    assert category_of("TypeError", message) is Category.JIT_TOOLCHAIN
    assert category_of("TypeError", message.replace("BackendCompilerFailed", "Gizmo")) is Category.ENVIRONMENT_MISMATCH


def test_an_assert_over_hidden_states_and_embeddings_is_a_drafting_heads() -> None:
    assert category_of("AssertionError", "assert hidden_states.shape[-1] == input_embeds.shape[-1]") is (
        Category.SPECULATION
    )
    assert category_of("AssertionError", "assert hidden_states.shape[-1] == gizmo.shape[-1]") is Category.KERNEL_FAULT


def test_an_argument_that_the_drafting_code_does_not_know_is_the_drafts_and_others_a_mismatch() -> None:
    message = "turn() got an unexpected keyword argument 'gizmo'"
    assert category_of("TypeError", message, [FRAME]) is Category.SPECULATION
    assert category_of("TypeError", message, ["/vllm/worker/model_runner.py turn"]) is Category.ENVIRONMENT_MISMATCH


@pytest.mark.parametrize(
    ("places", "around"),
    [
        (["/vllm/model_executor/model_loader/bitsandbytes_loader.py load_weights"], []),
        ([], ["INFO loader.py:1051] Loading weights with BitsAndBytes quantization.  May take a while ..."]),
    ],
)
def test_a_weight_that_does_not_fit_while_it_is_quantised_is_quantizations(
    places: list[str], around: list[str]
) -> None:
    assert of_what_was_loaded(Category.MODEL_FILES, places, around) is Category.QUANTIZATION
    assert of_what_was_loaded(Category.MODEL_FILES, [], []) is Category.MODEL_FILES
    assert of_what_was_loaded(Category.KERNEL_FAULT, places, around) is Category.KERNEL_FAULT


def test_an_assert_that_something_is_supported_is_about_the_chip() -> None:
    assert category_of("AssertionError", "assert is_gizmo_supported(self.gizmo)") is Category.ARCH_MISMATCH
