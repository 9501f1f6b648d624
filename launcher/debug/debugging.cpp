#include "launcher/debug/debugging.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <utility>
#include <vector>

#include "common/core/text.h"
#include "launcher/core/debug/process_table.h"
#include "launcher/core/debug/stack_report.h"
#include "launcher/core/report/report_text.h"
#include "launcher/debug/mpir.h"

namespace scela {

namespace {

// The time that a node gets to list its processes.
constexpr std::chrono::milliseconds kListTime{5000};

}  // namespace

Debugging::Debugging(const Plan& plan, const RankSet& failed, StderrWriter& person,
                     std::function<void(nla::Event)> post)
    : plan_(plan), failed_(failed), stderr_(person), post_(std::move(post)) {}

void Debugging::open(boost::asio::io_context& io) {
  Inspections::Hooks hooks;
  hooks.post = post_;
  hooks.nodes = [this] {
    return RankSet::run(0, static_cast<Rank>(plan_.hosts.size())).minus(failed_);
  };
  inspections_ = std::make_unique<Inspections>(io, std::move(hooks));
  socket_ = std::make_unique<AttachSocket>(
      io, [this](std::string_view request, const AttachSocket::Answer& reply) {
        answer(request, reply);
      });
}

void Debugging::close() {
  early_.clear();
  socket_.reset();
  inspections_.reset();
}

void Debugging::on(const nla::action::Inspected& piece) {
  if (inspections_) inspections_->on(piece);
}

void Debugging::node_failed(std::uint32_t node) {
  if (inspections_) inspections_->node_failed(node);
}

RankSet Debugging::ranks_on(const RankSet& nodes) const {
  RankSet ranks;
  nodes.for_each([&](std::uint32_t node) { ranks.add(plan_.job.map.ranks_of(node)); });
  return ranks;
}

void Debugging::collect_processes(std::function<void(std::vector<TableEntry>, RankSet)> done) {
  inspections_->ask(
      nla::Inspection::processes, kListTime,
      [this, done = std::move(done)](const InspectionAnswers& answers) {
        std::vector<TableEntry> table;
        for (const auto& [node, bytes] : answers.of_nodes) {
          auto processes = nla::decode_processes(bytes);
          if (!processes) continue;
          const RankSet here = plan_.job.map.ranks_of(node);
          for (nla::RankProcess& one : *processes) {
            if (!here.contains(one.rank)) continue;  // a node speaks for its own ranks only
            table.push_back({one.rank, plan_.hosts[node], one.pid, std::move(one.executable)});
          }
        }
        std::ranges::sort(table, {}, &TableEntry::rank);
        done(std::move(table), ranks_on(answers.silent));
      });
}

void Debugging::ranks_run() {
  ranks_run_ = true;
  for (const auto& [request, reply] : std::exchange(early_, {}))
    answer(request, reply);
}

void Debugging::launched() {
  ranks_run();
  if (!is_debugged()) return;
  std::vector<std::string> tool = tool_words();
  if (tool.empty()) return give_table();
  start_tool(std::move(tool), [this](const std::string& failures) {
    stderr_.write(failures);
    give_table();
  });
}

void Debugging::start_tool(std::vector<std::string> words, std::function<void(std::string)> done) {
  inspections_->ask(
      nla::Inspection::tool, kListTime,
      [this, name = words.front(), done = std::move(done)](const InspectionAnswers& answers) {
        std::string failures;
        const auto add = [&](std::uint32_t node, std::string_view why) {
          failures += cat(kProgramName, "start the debugger's program '", printable(name), "' on ",
                          plan_.hosts[node], ": ", printable(why), "\n");
        };
        for (const auto& [node, why] : answers.of_nodes)
          if (!why.empty()) add(node, why);
        answers.silent.for_each([&](Rank node) { add(node, "the node has not answered"); });
        done(std::move(failures));
      },
      words);
}

void Debugging::give_table() {
  collect_processes([this](const std::vector<TableEntry>& table, const RankSet& silent) {
    if (!silent.empty()) {
      stderr_.write(cat(kProgramName, "the debugger's table lacks the ranks ", silent.text(),
                        ": their nodes have not answered\n"));
    }
    publish_processes(table, plan_.job.id);
    post_(nla::event::UserSignal{SIGCONT});
  });
}

void Debugging::collect_stacks(std::chrono::milliseconds limit,
                               std::function<void(std::string)> done) {
  inspections_->ask(nla::Inspection::stacks, limit,
                    [this, done = std::move(done)](const InspectionAnswers& answers) {
                      std::vector<nla::RankStacks> all;
                      for (const auto& [node, bytes] : answers.of_nodes) {
                        auto stacks = nla::decode_stacks(bytes);
                        if (!stacks) continue;
                        const RankSet here = plan_.job.map.ranks_of(node);
                        for (nla::RankStacks& one : *stacks) {
                          one.ranks = one.ranks.intersection(here);
                          if (!one.ranks.empty()) nla::fold_into(all, std::move(one));
                        }
                      }
                      std::vector<SameStacks> groups;
                      for (nla::RankStacks& one : all)
                        groups.push_back({std::move(one.ranks), std::move(one.text)});
                      done(stack_report(std::move(groups), ranks_on(answers.silent)));
                    });
}

void Debugging::show_stacks(std::chrono::milliseconds limit, std::function<void()> then) {
  if (!inspections_ || !ranks_run_) {
    stderr_.write(cat(kProgramName, "no stacks: the ranks do not run yet\n"));
    if (then) then();
    return;
  }
  // While stacks are being read, another wish for them is the same one. The end of the job waits.
  if (showing_ && !then) return;
  showing_ = true;
  collect_stacks(limit, [this, then = std::move(then)](const std::string& report) {
    showing_ = false;
    stderr_.write(report);
    if (then) then();
  });
}

void Debugging::answer(std::string_view request, const AttachSocket::Answer& reply) {
  if (!ranks_run_) {
    early_.emplace_back(request, reply);
    return;
  }
  if (request == kAskProcesses) {
    return collect_processes(
        [this, reply](const std::vector<TableEntry>& table, const RankSet& /*silent*/) {
          reply(cat(plan_.job.id, '\n', table_text(table)));
        });
  }
  if (request.starts_with(cat(kAskTool, kToolSeparator))) {
    std::vector<std::string> words;
    for (std::string_view rest = request.substr(kAskTool.size()); !rest.empty();) {
      const std::size_t end = std::min(rest.find(kToolSeparator, 1), rest.size());
      words.emplace_back(rest.substr(1, end - 1));
      rest.remove_prefix(end);
    }
    return start_tool(std::move(words), reply);
  }
  std::uint32_t limit_ms = 0;
  if (request.starts_with(kAskStacks) && request.size() > kAskStacks.size()) {
    const char* const first = request.data() + kAskStacks.size() + 1;
    std::from_chars(first, request.data() + request.size(), limit_ms);
  }
  if (limit_ms == 0) return reply("unknown request\n");
  collect_stacks(std::chrono::milliseconds(limit_ms), reply);
}

}  // namespace scela
