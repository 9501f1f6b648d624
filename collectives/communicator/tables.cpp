#include "collectives/communicator/tables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/core/text.h"

namespace scela::collectives {
namespace {

constexpr Operation kLast = Operation::exscan;

Result<Table> read_table(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    return fail(Error{ErrorKind::usage, "read the table of algorithms that SCELA_COLL_TABLE names",
                      path, "it cannot be read", "name a file that all ranks can read"});
  return Table::parse(text, path);
}

}  // namespace

Environment environment_of_process() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::string variable_of(Operation operation) {
  std::string name = "SCELA_COLL_";
  for (const char c : name_of(operation))
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

Result<void> check_variables(std::span<const char* const> environment) {
  constexpr std::string_view kPrefix = "SCELA_COLL_";
  for (const char* const entry : environment) {
    const std::string_view text(entry);
    if (!text.starts_with(kPrefix)) continue;
    const std::string_view name = text.substr(0, text.find('='));
    const std::string_view value = text.substr(std::min(name.size() + 1, text.size()));
    std::string known = "SCELA_COLL_CHECK, SCELA_COLL_TABLE";
    bool found = name == "SCELA_COLL_CHECK" || name == "SCELA_COLL_TABLE";
    for (int i = 0; i <= static_cast<int>(kLast); ++i) {
      const std::string variable = variable_of(static_cast<Operation>(i));
      found = found || name == variable;
      known += cat(", ", variable);
    }
    if (!found)
      return fail({ErrorKind::usage, "read the environment variables of collective operations",
                   std::string(name), "there is no such variable", cat("the names are: ", known)});
    if (name == "SCELA_COLL_CHECK" && !value.empty() && value != "0" && value != "1")
      return fail({ErrorKind::usage, "read the environment variables of collective operations",
                   std::string(text), "its value is neither 0 nor 1", ""});
  }
  return {};
}

Result<std::vector<Source>> sources_of(std::string_view own, const Environment& environment) {
  std::vector<Source> sources;
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    const auto operation = static_cast<Operation>(i);
    const std::string name = variable_of(operation);
    const auto value = environment(name);
    if (!value || value->empty()) continue;
    auto row = Table::parse(cat(name_of(operation), " ", *value), name);
    if (!row) return fail(std::move(row.error()));
    sources.push_back({name, std::move(*row)});
  }
  if (const auto path = environment("SCELA_COLL_TABLE"); path && !path->empty()) {
    auto file = read_table(*path);
    if (!file) return fail(std::move(file.error()));
    sources.push_back({cat("file ", *path), std::move(*file)});
  }
  auto program = Table::parse(own, "the program's table");
  if (!program) return fail(std::move(program.error()));
  if (!program->rows().empty()) sources.push_back({"the program", std::move(*program)});
  sources.push_back({"built in", Table::standard()});
  return sources;
}

Result<Table> table_of(std::string_view own, const Environment& environment) {
  const auto sources = sources_of(own, environment);
  if (!sources) return fail(sources.error());
  return joined(*sources);
}

}  // namespace scela::collectives
