#include "hca/engine/daemon/engine_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::hca {

namespace {

// Formats a number in at most five characters: "12", "34K", "5.6M".
std::string short_number(std::uint64_t value, std::uint64_t base) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T", "P", "E"};
  if (value < 10'000) return cat(value);
  std::size_t unit = 0;
  std::uint64_t whole = value, rest = 0;
  while (whole >= base) {
    rest = whole % base;
    whole /= base;
    ++unit;
  }
  if (whole >= 10) return cat(whole, kUnits[unit]);
  return cat(whole, ".", rest * 10 / base, kUnits[unit]);
}

std::string count(std::uint64_t value) {
  return short_number(value, 1000);
}
std::string bytes(std::uint64_t value) {
  return short_number(value, 1024);
}

using Row = std::vector<std::string>;

// Formats a table. The first two columns are aligned to the left, the others to the right.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      text += cat(i == 0 ? "" : "  ", i < 2 ? row[i] + space : space + row[i]);
    }
    text += '\n';
  }
  return text;
}

Row row_of(const std::string& pid, const std::string& program, const Holdings& has) {
  return {pid,
          program,
          count(has.rc),
          count(has.uc),
          count(has.ud),
          count(has.xrc_send),
          count(has.xrc_recv),
          count(has.connections),
          count(has.sending),
          count(has.peer_nodes),
          count(has.cqs),
          count(has.srqs),
          bytes(has.srq_buffer_bytes),
          count(has.regions),
          bytes(has.registered_bytes),
          bytes(has.shared_bytes)};
}

Row row_of(const std::string& pid, const std::string& program, const Traffic& did) {
  return {pid,
          program,
          count(did.posted),
          count(did.executed),
          count(did.failed),
          bytes(did.sent_bytes),
          count(did.received),
          bytes(did.received_bytes),
          count(did.rnr_retries),
          count(did.retries),
          count(did.completions),
          count(did.wakes),
          count(did.events)};
}

nlohmann::ordered_json json_of(const Holdings& has, const Traffic& did) {
  nlohmann::ordered_json json;
  json["queue_pairs"] = {{"rc", has.rc},
                         {"uc", has.uc},
                         {"ud", has.ud},
                         {"xrc_send", has.xrc_send},
                         {"xrc_recv", has.xrc_recv},
                         {"bytes", has.queue_pair_bytes}};
  json["connections"] = {
      {"all", has.connections}, {"sending", has.sending}, {"peer_nodes", has.peer_nodes}};
  json["shared_receive_queues"] = {{"count", has.srqs},
                                   {"bytes", has.srq_bytes},
                                   {"requests", has.srq_requests},
                                   {"buffer_bytes", has.srq_buffer_bytes}};
  json["completion_queues"] = {{"count", has.cqs}, {"bytes", has.cq_bytes}};
  json["channels"] = has.channels;
  json["regions"] = {{"count", has.regions}, {"bytes", has.registered_bytes}};
  json["kept_bytes"] = has.kept_bytes;
  json["shared_bytes"] = has.shared_bytes;
  json["requests"] = {{"posted", did.posted},
                      {"executed", did.executed},
                      {"failed", did.failed},
                      {"bytes", did.sent_bytes}};
  json["received"] = {{"messages", did.received}, {"bytes", did.received_bytes}};
  json["retries"] = {{"receiver_not_ready", did.rnr_retries}, {"unanswered", did.retries}};
  json["completions"] = did.completions;
  json["wakes"] = did.wakes;
  json["events"] = did.events;
  return json;
}

}  // namespace

std::string program_of(pid_t pid) {
  std::string name = read_small_file(cat("/proc/", pid, "/comm").c_str());
  if (name.ends_with('\n')) name.pop_back();
  // The process sets its own name, and the output must be text.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

std::string status_text(const EngineStatus& status) {
  const NodeCounters& all = status.counters;
  std::vector<Row> has{{"pid", "program", "RC", "UC", "UD", "XRC>", ">XRC", "connected", "sending",
                        "nodes", "CQs", "SRQs", "buffers", "MRs", "registered", "shared"}};
  std::vector<Row> did{{"pid", "program", "posted", "executed", "failed", "bytes", "received",
                        "bytes", "not ready", "retries", "completed", "wakes", "events"}};
  for (std::size_t i = 0; i < all.processes.size(); ++i) {
    const std::string pid = cat(status.who[i].pid);
    has.push_back(row_of(pid, status.who[i].program, all.processes[i].holdings));
    did.push_back(row_of(pid, status.who[i].program, all.processes[i].traffic));
  }
  has.push_back(row_of("all", "", all.holdings));
  did.push_back(row_of("all", "", all.traffic));
  std::string lines;
  for (const auto& [name, value] : status.fabric)
    lines += cat(lines.empty() ? "\n" : "", name, " ", value, "\n");
  const std::string alone = status.fabric.empty() ? cat("\nno job; LIDs ", status.lid, " and ",
                                                        status.lid + 1, ", drawn at random")
                                                  : "";
  return cat("scela-hca ", status.version, ", process ", status.pid, alone, "\nprocesses ",
             all.processes.size(), "; runs ", status.runs, "; sleeps ", status.sleeps, ", of them ",
             status.doorbells, " ended by a bell", status.alone ? "; alone on its processors" : "",
             "; copies ", status.transfers, " of ", status.transferred_bytes, " bytes\n\n",
             table(has), "\n", table(did), lines);
}

std::string status_json(const EngineStatus& status) {
  const NodeCounters& all = status.counters;
  nlohmann::ordered_json json;
  json["version"] = status.version;
  json["pid"] = status.pid;
  json["lid"] = status.lid;
  json["engine"] = {{"runs", status.runs},        {"sleeps", status.sleeps},
                    {"bells", status.doorbells},  {"alone", status.alone},
                    {"copies", status.transfers}, {"copied_bytes", status.transferred_bytes}};
  json["node"] = json_of(all.holdings, all.traffic);
  for (const auto& [name, value] : status.fabric)
    json["fabric"][name] = value;
  json["processes"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < all.processes.size(); ++i) {
    nlohmann::ordered_json process{{"pid", status.who[i].pid}, {"program", status.who[i].program}};
    process.update(json_of(all.processes[i].holdings, all.processes[i].traffic));
    json["processes"].push_back(std::move(process));
  }
  return json.dump(1) + "\n";
}

}  // namespace scela::hca
