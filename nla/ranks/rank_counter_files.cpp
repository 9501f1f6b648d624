#include "nla/ranks/rank_counter_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

// Returns the first kMaxOfRank bytes of a regular file. For any other kind of file it returns an
// empty string.
std::string beginning_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  std::string text(kMaxOfRank, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto got =
        retry([&] { return ::read(file.get(), text.data() + size, text.size() - size); });
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

std::string counters_file(std::string_view directory, Rank rank) {
  return cat(directory, "/scela-counters.", rank);
}

std::string counters_line(std::string_view line, Rank rank) {
  const std::size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return {};
  const std::string_view name = line.substr(0, space), values = line.substr(space + 1);
  const auto plain = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
  const auto printed = [](char c) { return static_cast<unsigned char>(c) >= 0x20; };
  if (!std::ranges::all_of(name, plain) || !std::ranges::all_of(values, printed)) return {};
  if (!values.starts_with('{') || !values.ends_with('}')) return {};
  return cat(R"({"counters":")", name, R"(","rank":)", rank, R"(,"values":)", values, "}\n");
}

void add_counters(Pieces& report, std::string_view directory, const RankSet& ranks) {
  ranks.for_each([&](Rank rank) {
    const std::string text = beginning_of(counters_file(directory, rank));
    std::string_view left = text;
    for (std::size_t end; (end = left.find('\n')) != std::string_view::npos;
         left.remove_prefix(end + 1))
      report.add(counters_line(left.substr(0, end), rank));
  });
}

}  // namespace scela::nla
