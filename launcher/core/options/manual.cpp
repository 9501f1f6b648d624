#include "launcher/core/options/manual.h"

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/report/job_report.h"

namespace scela {
namespace {

// Escapes text for roff: "-" is printed as a minus sign that can be copied, and a leading "." or
// "'" starts no request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '-':
        out += "\\-";
        break;
      case '\\':
        out += "\\e";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      default:
        out += c;
    }
  }
  if (out.starts_with('.')) out.insert(0, "\\&");
  return out;
}

std::string bold(std::string_view text) {
  return cat("\\fB", escaped(text), "\\fR");
}
std::string italic(std::string_view text) {
  return cat("\\fI", escaped(text), "\\fR");
}

std::string heading_roff(const OptionRow& row) {
  std::string text;
  if (row.short_name != 0) text += bold(cat('-', row.short_name)) + ", ";
  text += bold(cat("--", row.name));
  if (row.takes == OptionArgument::required) return text + " " + italic(row.argument);
  return text + escaped(row.argument);
}

std::string sentence(std::string_view help) {
  std::string text(help);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return escaped(text) + ".";
}

}  // namespace

std::string options_roff() {
  std::string text;
  for (const OptionGroup group : kOptionGroups) {
    text += cat(".SS \"", title_of(group), "\"\n");
    for (const OptionRow& row : option_table()) {
      if (row.group != group) continue;
      text += cat(".TP\n", heading_roff(row), "\n", sentence(row.help), "\n");
      if (row.scope == OptionScope::program) text += "May differ from program to program.\n";
    }
  }
  return text;
}

std::string exit_status_roff() {
  std::string text;
  for (const ExitRow& row : exit_table()) {
    text += cat(".TP\n", bold(row.code), "\n", escaped(row.meaning), "\n");
  }
  return text;
}

std::string variables_roff() {
  std::string text;
  for (const OptionRow& row : option_table()) {
    if (row.variable.empty()) continue;
    text += cat(text.empty() ? "" : ",\n", bold(row.variable));
  }
  return text + ".\n";
}

Result<std::string> render_page(std::string_view source, std::string_view version) {
  std::string page;
  for (std::size_t number = 1; !source.empty(); ++number) {
    const auto end = source.find('\n');
    std::string line(source.substr(0, end));
    source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
    constexpr std::string_view kVersion = "@VERSION@";
    for (auto at = line.find(kVersion); at != std::string::npos; at = line.find(kVersion, at)) {
      line.replace(at, kVersion.size(), version);
      at += version.size();
    }
    if (line == "@OPTIONS@") {
      page += options_roff();
    } else if (line == "@EXIT_STATUS@") {
      page += exit_status_roff();
    } else if (line == "@VARIABLES@") {
      page += variables_roff();
    } else if (line.size() > 2 && line.front() == '@' && line.back() == '@') {
      return fail(Error{ErrorKind::usage, cat("replace ", line), cat("line ", number),
                        "there is no such placeholder",
                        "known are OPTIONS, EXIT_STATUS, VARIABLES and VERSION"});
    } else {
      page += line + "\n";
    }
  }
  return page;
}

}  // namespace scela
