#include "collectives/communicator/call/reductions.h"

#include <array>
#include <optional>
#include <utility>

#include "collectives/kernels/kernels.h"
#include "common/core/text.h"

namespace scela::collectives {
namespace {

static_assert(static_cast<std::size_t>(ElementType::opaque) == kTypes);
static_assert(static_cast<int>(ElementType::long_double_index) ==
              static_cast<int>(Type::long_double_index));
static_assert(static_cast<int>(ElementType::float32) == static_cast<int>(Type::float32));
static_assert(static_cast<int>(ReduceOp::maxloc) == static_cast<int>(Op::maxloc));
static_assert(static_cast<int>(ReduceOp::bit_and) == static_cast<int>(Op::bit_and));

using AllKernels = std::array<std::array<Kernels, kTypes>, kOps>;

const Kernels& kernels_of(ReduceOp op, ElementType type) {
  static const AllKernels all = [] {
    AllKernels made;
    for (std::size_t i = 0; i < kOps; ++i)
      for (std::size_t j = 0; j < kTypes; ++j)
        made[i][j] = kernels(static_cast<Op>(i), static_cast<Type>(j));
    return made;
  }();
  return all[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

void by_kernels(const void* state, const std::byte* left, const std::byte* right, std::byte* result,
                std::size_t elements) {
  const auto& chosen = *static_cast<const Kernels*>(state);
  if (result == right)
    chosen.from_left(result, left, elements);
  else
    chosen.from_right(result, right, elements);
}

void by_program(const void* state, const std::byte* left, const std::byte* right, std::byte* result,
                std::size_t elements) {
  (*static_cast<const Reducer::Function*>(state))(left, right, result, elements);
}

// Returns the calculation by which an adapter gets the same result. Sums wrap. Minima and maxima
// are the left operand unless the right one is less (greater), as in the kernels.
std::optional<Calculation> calculation_of(ReduceOp op, ElementType type) {
  using Do = Calculation::Op;
  using Of = Calculation::Type;
  constexpr std::pair<ReduceOp, Do> kDone[] = {
      {ReduceOp::sum, Do::sum},         {ReduceOp::minimum, Do::minimum},
      {ReduceOp::maximum, Do::maximum}, {ReduceOp::bit_and, Do::bit_and},
      {ReduceOp::bit_or, Do::bit_or},   {ReduceOp::bit_xor, Do::bit_xor}};
  constexpr std::pair<ElementType, Of> kTyped[] = {
      {ElementType::int32, Of::int32},     {ElementType::int64, Of::int64},
      {ElementType::uint32, Of::uint32},   {ElementType::uint64, Of::uint64},
      {ElementType::float32, Of::float32}, {ElementType::float64, Of::float64}};
  for (const auto& [asked, done] : kDone)
    for (const auto& [element, number] : kTyped)
      if (asked == op && element == type) return Calculation{done, number};
  return std::nullopt;
}

}  // namespace

std::string why_not(ReduceOp op, ElementType type, std::uint64_t element_bytes) {
  if (static_cast<std::size_t>(op) >= kOps) return "there is no such reduction";
  if (static_cast<std::size_t>(type) >= kTypes)
    return "elements that are just bytes have no sum: say their type, or an operation of your own";
  if (size_of(static_cast<Type>(type)) != element_bytes)
    return cat("elements of ", element_bytes, " bytes are no ", name_of(static_cast<Type>(type)));
  if (kernels_of(op, type).from_left == nullptr)
    return cat("there is no ", name_of(static_cast<Op>(op)), " of ",
               name_of(static_cast<Type>(type)));
  return {};
}

Reduction reduction_of(const Reducer& reducer, ElementType type, std::uint64_t element_bytes) {
  if (reducer.function()) return {by_program, reducer.function().get(), element_bytes};
  return {by_kernels, &kernels_of(reducer.op(), type), element_bytes,
          calculation_of(reducer.op(), type)};
}

}  // namespace scela::collectives
