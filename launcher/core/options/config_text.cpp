#include "launcher/core/options/config_text.h"

#include <algorithm>
#include <vector>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/report/report_text.h"

namespace scela {
namespace {

struct ConfigLine {
  std::string name;
  std::string value;
  std::string source;
};

// These are requests, not settings of a job.
bool is_request(const OptionRow& row) {
  return row.group == OptionGroup::other && row.name != "config";
}

std::string shown_value(const OptionRow& row, const std::string& value) {
  if (!value.empty()) return printable(value);
  return row.takes == OptionArgument::required ? "-" : "yes";
}

ConfigLine line_of(const OptionRow& row, const OptionSetting& setting) {
  std::string source = setting.source.empty() ? "command line" : printable(setting.source);
  if (setting.program > 0) source += cat(", program ", setting.program + 1);
  return {std::string(row.name), shown_value(row, setting.value), std::move(source)};
}

// Adds the lines of one option. Of an option that counts once, each program has its last setting.
void add_lines(const OptionRow& row, const Options& options, std::vector<ConfigLine>& lines) {
  std::vector<OptionSetting> held;
  for (const OptionSetting& setting : options.settings) {
    if (setting.name != row.name) continue;
    const auto earlier = std::ranges::find(held, setting.program, &OptionSetting::program);
    if (row.repeatable || earlier == held.end()) {
      held.push_back(setting);
    } else {
      *earlier = setting;
    }
  }
  if (held.empty()) {
    const std::string_view value = default_of(row);
    lines.push_back({std::string(row.name), value.empty() ? "-" : std::string(value), "default"});
  }
  for (const OptionSetting& setting : held)
    lines.push_back(line_of(row, setting));
}

}  // namespace

std::string config_text(const Options& options) {
  std::vector<ConfigLine> lines;
  for (const OptionRow& row : option_table()) {
    if (!is_request(row)) add_lines(row, options, lines);
  }
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  // A longer value moves its own source only.
  constexpr std::size_t kWidestValue = 32;
  for (const ConfigLine& line : lines) {
    name_width = std::max(name_width, line.name.size());
    if (line.value.size() <= kWidestValue) value_width = std::max(value_width, line.value.size());
  }
  std::string text;
  for (const ConfigLine& line : lines) {
    const std::size_t rest = value_width - std::min(value_width, line.value.size());
    text += cat(line.name, std::string(name_width - line.name.size() + 2, ' '), line.value,
                std::string(rest + 2, ' '), line.source, "\n");
  }
  return text;
}

}  // namespace scela
