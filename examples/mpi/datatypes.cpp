// Datatypes. A datatype is its blocks: a message of it is a message of pieces (scela/pieces.h), and
// a collective operation gets a copy without gaps.
#include <algorithm>
#include <complex>
#include <cstring>

#include "layer.h"

namespace layer {
namespace {

using scela::ElementType;

template <class T>
std::shared_ptr<const Layout> basic(ElementType element = scela::element_type_of<T>()) {
  return std::make_shared<const Layout>(
      Layout{{{0, sizeof(T)}}, sizeof(T), 0, sizeof(T), alignof(T), element, sizeof(T)});
}

// A pair of a value and an index has a gap behind it if the value is longer. It is reduced with the
// gap, and sent without it.
template <class T>
std::shared_ptr<const Layout> pair_of(ElementType element) {
  struct Pair {
    T value;
    int index;
  };
  Layout made{{}, sizeof(T) + sizeof(int), 0, sizeof(Pair), alignof(Pair), element, sizeof(Pair)};
  made.blocks.push_back({0, sizeof(T)});
  if (offsetof(Pair, index) == sizeof(T))
    made.blocks[0].bytes += sizeof(int);
  else
    made.blocks.push_back({offsetof(Pair, index), sizeof(int)});
  return std::make_shared<const Layout>(std::move(made));
}

// Layouts of the predefined types, by their handles from 0x200 on.
constexpr std::uintptr_t kFirst = 0x200, kPredefined = 0x80;

std::vector<std::shared_ptr<const Layout>> predefined() {
  const std::pair<MPI_Datatype, std::shared_ptr<const Layout>> all[] = {
      {MPI_AINT, basic<MPI_Aint>()},
      {MPI_COUNT, basic<MPI_Count>()},
      {MPI_OFFSET, basic<std::int64_t>()},
      {MPI_SHORT, basic<short>()},
      {MPI_INT, basic<int>()},
      {MPI_LONG, basic<long>()},
      {MPI_LONG_LONG, basic<long long>()},
      {MPI_UNSIGNED_SHORT, basic<unsigned short>()},
      {MPI_UNSIGNED, basic<unsigned>()},
      {MPI_UNSIGNED_LONG, basic<unsigned long>()},
      {MPI_UNSIGNED_LONG_LONG, basic<unsigned long long>()},
      {MPI_FLOAT, basic<float>()},
      {MPI_C_FLOAT_COMPLEX, basic<std::complex<float>>()},
      {MPI_DOUBLE, basic<double>()},
      {MPI_C_DOUBLE_COMPLEX, basic<std::complex<double>>()},
      {MPI_LONG_DOUBLE, basic<long double>()},
      {MPI_FLOAT_INT, pair_of<float>(ElementType::float32_index)},
      {MPI_DOUBLE_INT, pair_of<double>(ElementType::float64_index)},
      {MPI_LONG_INT, pair_of<long>(ElementType::int64_index)},
      {MPI_2INT, pair_of<int>(ElementType::int32_index)},
      {MPI_SHORT_INT, pair_of<short>(ElementType::int16_index)},
      {MPI_LONG_DOUBLE_INT, pair_of<long double>(ElementType::long_double_index)},
      {MPI_C_BOOL, basic<bool>(ElementType::uint8)},
      {MPI_INT8_T, basic<std::int8_t>()},
      {MPI_UINT8_T, basic<std::uint8_t>()},
      {MPI_CHAR, basic<char>()},
      {MPI_SIGNED_CHAR, basic<signed char>()},
      {MPI_UNSIGNED_CHAR, basic<unsigned char>()},
      {MPI_BYTE, basic<unsigned char>()},
      {MPI_INT16_T, basic<std::int16_t>()},
      {MPI_UINT16_T, basic<std::uint16_t>()},
      {MPI_INT32_T, basic<std::int32_t>()},
      {MPI_UINT32_T, basic<std::uint32_t>()},
      {MPI_INT64_T, basic<std::int64_t>()},
      {MPI_UINT64_T, basic<std::uint64_t>()},
  };
  std::vector<std::shared_ptr<const Layout>> by_number(kPredefined);
  for (const auto& [handle, layout] : all)
    by_number[reinterpret_cast<std::uintptr_t>(handle) - kFirst] = layout;
  return by_number;
}

// Elements of one type that follow each other, at an offset in bytes.
struct Run {
  MPI_Aint offset;
  int length;
  const Layout* layout;
};

void add(std::vector<Block>& blocks, const Block& block) {
  if (block.bytes == 0) return;
  if (!blocks.empty() &&
      blocks.back().offset + static_cast<MPI_Aint>(blocks.back().bytes) == block.offset)
    blocks.back().bytes += block.bytes;
  else
    blocks.push_back(block);
}

Layout layout_of_runs(std::span<const Run> runs) {
  Layout made;
  bool is_first = true;
  MPI_Aint ub = 0;
  for (const Run& run : runs) {
    if (run.length == 0) continue;
    const Layout& old = *run.layout;
    for (MPI_Aint i = 0; i < run.length; ++i) {
      const MPI_Aint at = run.offset + i * old.extent;
      for (const Block& block : old.blocks)
        add(made.blocks, {at + block.offset, block.bytes});
      made.lb = is_first ? at + old.lb : std::min(made.lb, at + old.lb);
      ub = is_first ? at + old.lb + old.extent : std::max(ub, at + old.lb + old.extent);
      is_first = false;
    }
    made.size += static_cast<std::size_t>(run.length) * old.size;
    made.alignment = std::max(made.alignment, old.alignment);
  }
  made.extent = ub - made.lb;
  return made;
}

// Makes a datatype of `count` runs, which `run_of` describes. A structure is as long as the
// compiler makes it: up to the next address for its member with the greatest alignment.
template <class RunOf>
int make(const char* function, int count, MPI_Datatype* newtype, bool is_structure, RunOf run_of) {
  return with(MPI_COMM_SELF, function, [&](MPI_ABI_Comm&) -> Result {
    if (count < 0) return {MPI_ERR_COUNT, "the count is below 0"};
    std::vector<Run> runs;
    for (int i = 0; i < count; ++i) {
      runs.push_back(run_of(i));
      if (runs.back().layout == nullptr)
        return {MPI_ERR_TYPE, "an old datatype is MPI_DATATYPE_NULL or no datatype"};
      if (runs.back().length < 0) return {MPI_ERR_COUNT, "the length of a block is below 0"};
    }
    Layout made = layout_of_runs(runs);
    if (is_structure) {
      const auto step = static_cast<MPI_Aint>(made.alignment);
      made.extent = (made.extent + step - 1) / step * step;
    }
    *newtype = new MPI_ABI_Datatype{std::make_shared<const Layout>(std::move(made))};
    return {};
  });
}

// Runs `call` with the datatype's layout.
template <class Call>
int with_layout(MPI_Datatype type, const char* function, Call call) {
  return with(MPI_COMM_SELF, function, [&](MPI_ABI_Comm&) -> Result {
    const Layout* const layout = layout_of(type).get();
    if (layout == nullptr)
      return {MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL or no datatype"};
    return call(*layout);
  });
}

}  // namespace

const std::shared_ptr<const Layout>& layout_of(MPI_Datatype type) {
  static const std::vector<std::shared_ptr<const Layout>> known = predefined();
  static const std::shared_ptr<const Layout> none;
  const auto number = reinterpret_cast<std::uintptr_t>(type);
  if (number >= 0x1000) return type->layout;
  return number >= kFirst && number < kFirst + kPredefined ? known[number - kFirst] : none;
}

void Layout::pack(const void* buffer, int count, std::byte* packed) const {
  each_block(static_cast<const std::byte*>(buffer), count,
             [&](const std::byte* at, std::size_t bytes) {
               std::memcpy(packed, at, bytes);
               packed += bytes;
             });
}

void Layout::unpack(const std::byte* packed, void* buffer, int count) const {
  each_block(static_cast<std::byte*>(buffer), count, [&](std::byte* at, std::size_t bytes) {
    std::memcpy(at, packed, bytes);
    packed += bytes;
  });
}

}  // namespace layer

using namespace layer;

int MPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return make("MPI_Type_contiguous", 1, newtype, false, [&](int) {
    return Run{0, count, layout_of(oldtype).get()};
  });
}

int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                    MPI_Datatype* newtype) {
  const Layout* const old = layout_of(oldtype).get();
  const MPI_Aint step = old != nullptr ? stride * old->extent : 0;
  return make("MPI_Type_vector", count, newtype, false, [&](int i) {
    return Run{i * step, blocklength, old};
  });
}

int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                            MPI_Datatype* newtype) {
  return make("MPI_Type_create_hvector", count, newtype, false, [&](int i) {
    return Run{i * stride, blocklength, layout_of(oldtype).get()};
  });
}

int MPI_Type_indexed(int count, const int blocklengths[], const int displacements[],
                     MPI_Datatype oldtype, MPI_Datatype* newtype) {
  const Layout* const old = layout_of(oldtype).get();
  const MPI_Aint step = old != nullptr ? old->extent : 0;
  return make("MPI_Type_indexed", count, newtype, false, [&](int i) {
    return Run{displacements[i] * step, blocklengths[i], old};
  });
}

int MPI_Type_create_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                           const MPI_Datatype types[], MPI_Datatype* newtype) {
  return make("MPI_Type_create_struct", count, newtype, true, [&](int i) {
    return Run{displacements[i], blocklengths[i], layout_of(types[i]).get()};
  });
}

int MPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                            MPI_Datatype* newtype) {
  return with_layout(oldtype, "MPI_Type_create_resized", [&](const Layout& old) -> Result {
    Layout made = old;
    made.lb = lb;
    made.extent = extent;
    made.element = ElementType::opaque;
    *newtype = new MPI_ABI_Datatype{std::make_shared<const Layout>(std::move(made))};
    return {};
  });
}

int MPI_Type_commit(MPI_Datatype* datatype) {
  return with_layout(*datatype, "MPI_Type_commit", [](const Layout&) { return Result{}; });
}

// Messages and operations that are under way share the layout, and go on.
int MPI_Type_free(MPI_Datatype* datatype) {
  return with_layout(*datatype, "MPI_Type_free", [&](const Layout&) -> Result {
    if (reinterpret_cast<std::uintptr_t>(*datatype) < 0x1000)
      return {MPI_ERR_TYPE, "a predefined datatype is not freed"};
    delete std::exchange(*datatype, MPI_DATATYPE_NULL);
    return {};
  });
}

int MPI_Type_size(MPI_Datatype datatype, int* size) {
  return with_layout(datatype, "MPI_Type_size", [&](const Layout& layout) -> Result {
    *size = static_cast<int>(layout.size);
    return {};
  });
}

int MPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  return with_layout(datatype, "MPI_Type_get_extent", [&](const Layout& layout) -> Result {
    *lb = layout.lb;
    *extent = layout.extent;
    return {};
  });
}

int MPI_Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}
