// Task lists: any text is a list, which its own text gives back, or an error that names a place;
// and any lists are proved or refused.
//
// Input: the lists of ranks 0, 1, ..., with a line "%" between them. The first byte says which
// operation they are checked for, and how.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/analysis/loggp.h"
#include "collectives/core/analysis/symbolic.h"

namespace {

using namespace scela::collectives;

constexpr std::uint32_t kMaxBlocksHere = 64;
constexpr std::size_t kMaxRanks = 16;

Shape shape_of(unsigned char how, std::size_t ranks) {
  Shape shape;
  shape.operation = static_cast<Operation>(how % 11);
  shape.ranks = static_cast<int>(ranks);
  shape.in_place = (how & 0x40) != 0;
  shape.commutes = (how & 0x80) != 0;
  return shape;
}

void prove(unsigned char how, const std::vector<TaskList>& lists) {
  const Shape shape = shape_of(how, lists.size());
  const auto good = check(shape, lists);
  const auto right = execute(shape, lists);
  const auto times = simulate(lists, {}, Machine{});
  // Lists that were proved can be run.
  if (good && !times) std::abort();
  if (right && right->messages > 0 && right->rounds == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<TaskList> lists;
  bool is_small = true;
  while (!text.empty() && lists.size() < kMaxRanks) {
    const auto end = text.find("\n%\n");
    const auto list = parse(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 3);
    if (!list) {
      if (list.error().why.empty()) std::abort();
      return 0;
    }
    const auto again = parse(to_text(*list));
    if (!again || *again != *list) std::abort();
    for (const std::uint32_t blocks : list->blocks)
      is_small = is_small && blocks <= kMaxBlocksHere;
    lists.push_back(*list);
  }
  if (!lists.empty() && is_small) prove(data[0], lists);
  return 0;
}
