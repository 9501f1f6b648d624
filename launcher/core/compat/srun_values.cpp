// Values of the options of srun.
#include <algorithm>
#include <array>
#include <string>

#include "common/core/text.h"
#include "launcher/core/compat/peer_values.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// The unit of what stands before the first colon of a time: days-hours:minutes:seconds,
// hours:minutes:seconds, minutes:seconds, or minutes.
constexpr std::uint32_t kSecondsOf[] = {24 * 3600, 3600, 60, 1};

// A file of hosts is told from a host list by its '/'.
std::string list_or_file(std::string_view value) {
  return cat(value.find('/') == std::string_view::npos ? "" : "^", value);
}

// Adds the words for the prefix "verbose," or "quiet," of a binding, and returns the rest.
Result<std::string_view> without_verbosity(PeerCall& call, std::string_view value) {
  for (const std::string_view prefix : {"verbose", "v", "quiet", "q"}) {
    if (value.substr(0, value.find(',')) != prefix) continue;
    if (prefix.starts_with('v'))
      if (auto done = call.add_default("report-bindings"); !done) return fail(done.error());
    return value.size() == prefix.size() ? std::string_view() : value.substr(prefix.size() + 1);
  }
  return value;
}

}  // namespace

Result<void> srun_export(PeerCall& call, std::string_view value) {
  std::string passed;
  bool is_all = false;
  for (const std::string& element : split_list(value, ',')) {
    if (element.find('=') != std::string::npos) {
      if (auto done = call.add(cat("--genv=", element)); !done) return done;
    } else if (element == "ALL") {
      is_all = true;
    } else if (element == "NONE" || element == "NIL") {
      passed.clear();
    } else {
      passed += cat(passed.empty() ? "" : ",", element);
    }
  }
  if (is_all) return call.add("--env-pass=all");
  return call.add(cat("--env-pass=", passed.empty() ? "none" : passed));
}

Result<void> srun_input(PeerCall& call, std::string_view value) {
  const bool is_number = value.find_first_not_of("0123456789") == std::string_view::npos;
  if (value == "all" || value == "none" || (is_number && !value.empty()))
    return call.add(cat("--stdin=", value));
  return fail(value_error("tasks read no file of that name", "write < FILE behind the command"));
}

Result<void> srun_kill(PeerCall& call, std::string_view value) {
  auto flag = value.empty() ? Result<bool>(true) : parse_flag(value);
  if (!flag) return fail(std::move(flag.error()));
  return call.add(cat("--on-failure=", *flag ? "kill" : "wait"));
}

Result<void> srun_distribution(PeerCall& call, std::string_view value) {
  const std::string_view nodes = value.substr(0, value.find_first_of(":,"));
  if (nodes == "block" || nodes == "*") return call.add("--map-by=slot");
  if (nodes == "cyclic") return call.add("--map-by=node");
  return fail(unknown_value(value, "block or cyclic, or SCELA_RANKFILE=FILE for any other"));
}

Result<void> srun_mpi(PeerCall& call, std::string_view value) {
  if (value == "list") {
    return fail(
        value_error("no list is shown",
                    "the values are none, pmi2, pmix, and the default, which suits the program"));
  }
  if (value == "none") return call.add("--pmi=auto");
  if (value.starts_with("pmix")) return call.add("--pmi=pmix");
  if (value == "pmi2") return call.add("--pmi=pmi2");
  return fail(unknown_value(value, "none, pmi2 or pmix"));
}

Result<void> srun_nodes(PeerCall& call, std::string_view value) {
  const auto dash = value.find('-');
  auto least = parse_number(value.substr(0, dash), 1, kMaxSlots);
  if (!least) return fail(std::move(least.error()));
  auto most = least;
  if (dash != std::string_view::npos)
    most = parse_number(value.substr(dash + 1), *least, kMaxSlots);
  if (!most) return fail(std::move(most.error()));
  call.nodes = {*least, *most};
  return {};
}

Result<void> srun_nodefile(PeerCall& call, std::string_view value) {
  call.host_lists.push_back(cat("^", value));
  return {};
}

Result<void> srun_nodelist(PeerCall& call, std::string_view value) {
  if (auto text = parse_text(value); !text) return fail(std::move(text.error()));
  call.host_lists.push_back(list_or_file(value));
  return {};
}

Result<void> srun_exclude(PeerCall& call, std::string_view value) {
  if (auto text = parse_text(value); !text) return fail(std::move(text.error()));
  call.excluded.push_back(list_or_file(value));
  return {};
}

Result<void> srun_relative(PeerCall& call, std::string_view value) {
  auto number = parse_number(value, 0, kMaxSlots);
  if (!number) return fail(std::move(number.error()));
  call.first_node = *number;
  return {};
}

Result<void> srun_wait(PeerCall&, std::string_view value) {
  const auto seconds = parse_number(value, 0, 1'000'000'000);
  if (seconds && *seconds == 0) return {};
  return fail(value_error("there is no limit from the first end of a task on",
                          "give 0, which is no limit, or give --time, or -K"));
}

Result<void> srun_memory(PeerCall& call, std::string_view value) {
  call.notes.push_back(cat("warning: --mem ", value,
                           " of srun is ignored: scela-run neither reserves nor limits memory"));
  return {};
}

Result<void> srun_hint(PeerCall& call, std::string_view value) {
  if (value != "compute_bound" && value != "memory_bound" && value != "multithread" &&
      value != "nomultithread")
    return fail(unknown_value(value, "compute_bound, memory_bound, multithread or nomultithread"));
  call.notes.push_back(
      cat("warning: --hint ", value, " of srun is ignored: --cpu-bind and -c say where tasks run"));
  return {};
}

Result<void> srun_time(PeerCall& call, std::string_view value) {
  if (value == "UNLIMITED" || value == "INFINITE" || value == "-1") return call.add("--timeout=0");
  const auto refused = [&] {
    return fail(value_error(cat("'", value, "' is no time"),
                            "give minutes, minutes:seconds, hours:minutes:seconds or days-hours"));
  };
  const auto dash = value.find('-');
  const bool has_days = dash != std::string_view::npos;
  std::vector<std::uint32_t> parts;
  std::string_view rest = value.substr(has_days ? dash + 1 : 0);
  if (has_days) {
    const auto days = parse_number(value.substr(0, dash), 0, 365);
    if (!days) return refused();
    parts.push_back(*days);
  }
  for (bool is_last = false; !is_last;) {
    const auto colon = rest.find(':');
    is_last = colon == std::string_view::npos;
    const auto part = parse_number(rest.substr(0, colon), 0, 1'000'000);
    if (!part) return refused();
    parts.push_back(*part);
    rest = is_last ? rest : rest.substr(colon + 1);
  }
  if (parts.size() > std::size(kSecondsOf) || (!has_days && parts.size() > 3)) return refused();
  // Without days, a number alone is minutes, and a last part behind colons is seconds.
  const std::size_t first = has_days ? 0 : parts.size() == 3 ? 1 : 2;
  std::uint64_t seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i)
    seconds += std::uint64_t{parts[i]} * kSecondsOf[first + i];
  return call.add(cat("--timeout=", seconds));
}

Result<void> srun_mem_bind(PeerCall& call, std::string_view value) {
  if (value.empty()) return fail(unknown_value(value, "none, local, rank or prefer"));
  const auto rest = without_verbosity(call, value);
  if (!rest) return fail(rest.error());
  for (const std::string& what : list_elements(*rest)) {
    if (what == "sort" || what == "nosort") continue;  // of the pages of a program's file
    const bool is_local = what == "local" || what == "rank";
    if (!is_local && what != "none" && what != "no" && what != "prefer" && what != "p")
      return fail(unknown_value(what, "none, local, rank or prefer"));
    const std::string_view becomes = is_local ? "local" : what.starts_with('p') ? "prefer" : "none";
    if (auto done = call.add(cat("--mem-bind=", becomes)); !done) return done;
  }
  return {};
}

Result<void> srun_binding(PeerCall& call, std::string_view value) {
  const auto rest = without_verbosity(call, value);
  if (!rest) return fail(rest.error());
  const std::string_view what = *rest;
  if (what.empty()) return {};
  constexpr std::pair<std::string_view, std::string_view> kObjects[] = {
      {"none", "none"},      {"no", "none"},    {"cores", "core"},
      {"sockets", "socket"}, {"ldoms", "numa"}, {"threads", "hwthread"}};
  const auto found =
      std::ranges::find(kObjects, what, &std::pair<std::string_view, std::string_view>::first);
  if (found == std::end(kObjects))
    return fail(
        unknown_value(what, "none, cores, sockets, ldoms or threads, or SCELA_RANKFILE=FILE"));
  return call.add(cat("--bind-to=", found->second));
}

}  // namespace scela
