#include "launcher/core/debug/process_table.h"

#include <algorithm>
#include <charconv>

#include "common/core/text.h"

namespace scela {

namespace {

// Returns the text up to the blank, and removes both from `line`.
std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

template <class Number>
bool read_number(std::string_view word, Number& number) {
  const auto end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

}  // namespace

std::string table_text(const std::vector<TableEntry>& table) {
  std::string out;
  for (const TableEntry& entry : table) {
    std::string path = entry.executable.empty() ? "?" : entry.executable;
    std::ranges::replace_if(
        path, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
    out += cat(entry.rank, ' ', entry.host, ' ', entry.pid, ' ', path, '\n');
  }
  return out;
}

Result<std::vector<TableEntry>> parse_table(std::string_view text) {
  std::vector<TableEntry> table;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    std::string_view rest = line;
    TableEntry entry;
    const bool ranked = read_number(next_word(rest), entry.rank);
    entry.host = next_word(rest);
    const bool numbered = read_number(next_word(rest), entry.pid);
    entry.executable = rest;
    if (!ranked || !numbered || entry.host.empty() || rest.empty()) {
      return fail(Error{ErrorKind::protocol, "read the table of processes", "",
                        cat("the line '", line, "' is not RANK HOST PID EXECUTABLE"), ""});
    }
    table.push_back(std::move(entry));
  }
  return table;
}

}  // namespace scela
