#include "nla/core/wire/inspection.h"

#include <algorithm>
#include <utility>

#include "common/core/bytes.h"
#include "nla/core/wire/fields.h"

namespace scela::nla {

auto fields(Is<RankProcess> auto& one) {
  return std::tie(one.rank, one.pid, one.executable);
}
auto fields(Is<RankStacks> auto& one) {
  return std::tie(one.ranks, one.text);
}

namespace {

template <class Answer>
std::string encode_list(const std::vector<Answer>& list) {
  ByteWriter out;
  FieldWriter(out).put(list);
  return out.take();
}

template <class Answer>
Result<std::vector<Answer>> decode_list(std::string_view bytes) {
  std::vector<Answer> list;
  ByteReader in(bytes);
  FieldReader(in).get(list);
  if (in.ok() && in.done()) return list;
  return fail(Error{ErrorKind::protocol, "read what a node says of its ranks", "",
                    "its bytes are too few, too many or malformed", ""});
}

}  // namespace

void fold_into(std::vector<RankStacks>& list, RankStacks more) {
  const auto same =
      std::ranges::find_if(list, [&](const RankStacks& one) { return one.text == more.text; });
  if (same != list.end()) {
    same->ranks.add(more.ranks);
  } else {
    list.push_back(std::move(more));
  }
}

void cut_texts(std::vector<RankStacks>& list, std::size_t bytes) {
  for (RankStacks& one : list) {
    const std::size_t share = bytes / list.size();
    if (one.text.size() > share) one.text.resize(share);
  }
}

std::string encode(const std::vector<RankProcess>& processes) {
  return encode_list(processes);
}
std::string encode(const std::vector<RankStacks>& stacks) {
  return encode_list(stacks);
}
Result<std::vector<RankProcess>> decode_processes(std::string_view bytes) {
  return decode_list<RankProcess>(bytes);
}
Result<std::vector<RankStacks>> decode_stacks(std::string_view bytes) {
  return decode_list<RankStacks>(bytes);
}

}  // namespace scela::nla
