from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polywheel_abi_check.elf import read_elf
from polywheel_abi_check.source import FileSource
from polywheel_abi_check.torch_symbols import (
    TorchImports,
    TorchSymbol,
    classify,
    declared_shims,
    own_scope,
    torch_imports,
)

SHIMS = frozenset({"aoti_torch_get_dim", "aoti_record_function_end", "torch_call_dispatcher"})
SHIM, UNKNOWN, UNSTABLE = TorchSymbol.SHIM, TorchSymbol.UNKNOWN_SHIM, TorchSymbol.UNSTABLE
PYTHON, UNRELATED = TorchSymbol.PYTHON, TorchSymbol.UNRELATED


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aoti_torch_get_dim", SHIM),
        ("aoti_record_function_end", SHIM),
        ("torch_call_dispatcher", SHIM),
        ("torch_my_own_helper", UNKNOWN),
        ("aoti_torch_does_not_exist", UNKNOWN),
        ("torchvision_helper", UNRELATED),
        ("my_torch_helper", UNRELATED),
        ("THPVariableClass", PYTHON),
        ("THPGeneratorClass", PYTHON),
        ("_Z16THPVariable_WrapN2at10TensorBaseE", PYTHON),
        ("THP_is_not_torch", UNRELATED),
        ("malloc", UNRELATED),
        # foo::torch::bar(): a namespace of the same name elsewhere.
        ("_ZN3foo5torch3barEv", UNRELATED),
        # at::Tensor's own: member, vtable, typeinfo, typeinfo name, VTT, thunks.
        ("_ZN2at6Tensor3addERKS0_", UNSTABLE),
        ("_ZTVN2at1XE", UNSTABLE),
        ("_ZTIN3c105ErrorE", UNSTABLE),
        ("_ZTSN3c105ErrorE", UNSTABLE),
        ("_ZTTN5torch1XE", UNSTABLE),
        ("_ZTIPKN2at6TensorE", UNSTABLE),
        ("_ZThn16_N2at1X3fooEv", UNSTABLE),
        ("_ZTv0_n24_N2at1XD1Ev", UNSTABLE),
        ("_ZTch0_v0_n32_N5torch1X5cloneEv", UNSTABLE),
        ("_ZTCN2at1XE0_NS_1YE", UNSTABLE),
        ("_ZTWN3c106detail5depthE", UNSTABLE),
        ("_ZGVN2at6memory4poolE", UNSTABLE),
        ("_ZGVZN2at3fooEvE1x", UNSTABLE),
        ("_ZZN2at3fooEvE1x", UNSTABLE),
        # float const* at::TensorBase::const_data_ptr<float, 0>() const: the return type comes first.
        ("_ZNK2at10TensorBase14const_data_ptrIfLi0EEEPKT_v", UNSTABLE),
        ("_ZN2atlsERSoRKNS_6TensorE", UNSTABLE),
        ("_ZN6caffe28TypeMeta4nameB5cxx11Ev", UNSTABLE),
        ("_ZN5torch7LibraryC1Ev", UNSTABLE),
        ("_ZN2at3fooEN5torch10headeronly10ScalarTypeE", UNSTABLE),
        ("_ZN5torch6stableEv", UNSTABLE),
        ("_ZN5torch6stableIiEEvv", UNSTABLE),
        ("_ZN5torch9stablebit3fooEv", UNSTABLE),
        # Nested in the stable namespaces.
        ("_ZN5torch6stable6Tensor3dimEv", UNRELATED),
        ("_ZNK5torch6stable6detail1fEN2at6TensorE", UNRELATED),
        ("_ZTIN5torch10headeronly5ErrorE", UNRELATED),
        # Torch only in a parameter, a template argument, a function type.
        ("_Z3useRKN2at6TensorE", UNRELATED),
        ("_Z3useIN2at6TensorEEvT_", UNRELATED),
        ("_ZN3own3useERKN2at6TensorE", UNRELATED),
        ("_ZN3own3BoxIN2at6TensorEE3getEv", UNRELATED),
        ("_ZNSt6vectorIN2at6TensorESaIS1_EE4sizeEv", UNRELATED),
        ("_ZSt4moveIRN2at6TensorEEONSt16remove_referenceIT_E4typeEOS4_", UNRELATED),
        ("_ZTIFvN2at6TensorEE", UNRELATED),
        # A function or class named at, torch: no namespace.
        ("_Z5torchv", UNRELATED),
        ("_ZTI2at", UNRELATED),
        ("_ZN2atE", UNRELATED),
        ("_ZN12_GLOBAL__N_12at3fooEv", UNRELATED),
        # No Itanium names.
        ("_Z", UNRELATED),
        ("_ZN99at", UNRELATED),
        ("_ZN2a", UNRELATED),
    ],
)
def test_kinds(name: str, kind: TorchSymbol) -> None:
    assert classify(name, SHIMS) is kind


def test_own_scope_stops_at_three_names() -> None:
    assert own_scope("_ZNK2at10TensorBase3dimEv") == ("at", "TensorBase", "dim")
    assert own_scope("_ZN2at6TensorC1Ev") == ("at", "Tensor", "")
    assert own_scope("_ZN1a1b1c1d1eE") == ("a", "b", "c")
    assert own_scope("plain") == ()


IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,11}", fullmatch=True).filter(
    lambda name: not name.startswith("_GLOBAL_")
)
PREFIXES = st.sampled_from(["", "TV", "TI", "TS", "Th8_", "Tv0_n24_", "GV", "Z", "ZZ"])


@given(PREFIXES, st.lists(IDENTIFIERS, min_size=2, max_size=5), st.sampled_from(["", "K", "VK"]))
def test_own_scope_of_any_nested_name(prefix: str, names: list[str], qualifiers: str) -> None:
    if prefix == "TI":
        qualifiers = ""
    mangled = f"_Z{prefix}N{qualifiers}{''.join(f'{len(name)}{name}' for name in names)}E"
    assert own_scope(mangled) == tuple(names[:3])


@given(st.text(st.sampled_from("_ZNKTVIGhvcESLBP0123456789atorch"), max_size=60))
def test_any_text_has_a_kind(text: str) -> None:
    assert classify("_Z" + text, SHIMS) in (UNSTABLE, UNRELATED, PYTHON)


def test_imports_are_sorted_by_kind() -> None:
    names = ["malloc", "torch_x", "_ZN2at1fEv", "torch_call_dispatcher", "THPVariableClass", "_ZN3c101fEv"]
    assert torch_imports(names, SHIMS) == TorchImports(
        shims=("torch_call_dispatcher",),
        unknown_shims=("torch_x",),
        unstable=("_ZN2at1fEv", "_ZN3c101fEv"),
        python=("THPVariableClass",),
    )


CPP = """
namespace torch::stable { struct Tensor { virtual ~Tensor(); virtual int dim() const; }; }
namespace torch::headeronly { enum class ScalarType : char { Float }; void check(ScalarType); }
namespace at {
struct Base { virtual ~Base(); virtual Base* clone(); };
struct Tensor : virtual Base {
  Tensor();
  Tensor* clone() override;
  template <class T> const T* data() const;
};
extern thread_local int depth;
void fill(torch::headeronly::ScalarType);
}
namespace own { void use(const at::Tensor&); namespace torch { void bar(); } template <class T> T make(); }
extern "C" void torch_call_dispatcher();
extern "C" void aoti_torch_does_not_exist();
extern "C" int THPVariableClass;
struct Mine : at::Tensor { Mine(); };
Mine::Mine() {
  torch_call_dispatcher();
  aoti_torch_does_not_exist();
  at::depth += THPVariableClass;
  data<float>();
  own::use(*this);
  own::torch::bar();
  own::make<at::Tensor*>();
  at::fill(torch::headeronly::ScalarType::Float);
  torch::headeronly::check(torch::headeronly::ScalarType::Float);
  torch::stable::Tensor t;
  t.dim();
}
"""


@pytest.mark.compiler
def test_imports_of_a_compiled_library(tmp_path: Path) -> None:
    source, library = tmp_path / "t.cpp", tmp_path / "t.so"
    source.write_text(CPP, encoding="utf-8")
    subprocess.run(["g++", "-std=c++17", "-shared", "-fPIC", "-o", library, source], check=True)
    with FileSource(library) as opened:
        image = read_elf(opened, "t.so")
    found = torch_imports((symbol.name for symbol in image.imported), SHIMS)
    demangled = subprocess.run(
        ["c++filt", "--no-params", *found.unstable], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert found.shims == ("torch_call_dispatcher",)
    assert found.unknown_shims == ("aoti_torch_does_not_exist",)
    assert found.python == ("THPVariableClass",)
    expected = {"at::Tensor::Tensor", "at::Tensor::clone", "at::depth", "at::fill", "typeinfo for at::Tensor"}
    assert expected <= {name.replace("TLS init function for ", "") for name in demangled}
    assert any("at::Tensor::data<float>" in name for name in demangled)
    assert not any("own::" in name or "stable::" in name or "headeronly" in name for name in demangled)


HEADER = """
#define AOTI_TORCH_EXPORT __attribute__((__visibility__("default")))
#define CHECKED(call) \\
  AOTI_TORCH_EXPORT int call(int)
struct ListOpaque;
using StableListHandle = ListOpaque*;
typedef void (*ParallelFunc)(long, long, void*);
/* AOTI_TORCH_EXPORT int in_a_block_comment(); */
// AOTI_TORCH_EXPORT int in_a_comment();
AOTI_TORCH_EXPORT int32_t aoti_torch_dtype_float();AOTI_TORCH_EXPORT int same_line(void);
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_12_0
AOTI_TORCH_EXPORT AOTITorchError
torch_new_list(
    size_t size, // returns a new reference
    void (*callback)(int),
    StableListHandle* ret);
#endif
AOTI_TORCH_EXPORT [[deprecated("use (another)")]] const char* aoti_torch_old(void);
AOTI_TORCH_EXPORT __attribute__((deprecated("no"))) void** aoti_torch_older (void);
AOTI_TORCH_EXPORT extern int a_variable;
int not_exported(void);
"""


def test_declared_functions_and_nothing_else() -> None:
    assert declared_shims([HEADER, ""]) == {
        "aoti_torch_dtype_float",
        "same_line",
        "torch_new_list",
        "aoti_torch_old",
        "aoti_torch_older",
    }


@given(st.lists(st.text(max_size=200), max_size=3))
def test_any_header_text_is_read(texts: list[str]) -> None:
    assert all(
        name.isidentifier() for name in declared_shims([*texts, *(f"AOTI_TORCH_EXPORT {t}" for t in texts)])
    )
