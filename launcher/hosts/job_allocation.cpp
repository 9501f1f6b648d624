#include "launcher/hosts/job_allocation.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/detect/detect.h"
#include "launcher/core/detect/launch_choice.h"
#include "launcher/core/detect/readers.h"
#include "launcher/hosts/node_losses.h"
#include "launcher/io/captured_command.h"
#include "launcher/io/whole_files.h"

namespace scela {
namespace {

// Returns the words of a command that a reader asks for, with the path of kPmixTool: it is
// installed where this program is.
std::vector<std::string> found_words(std::vector<std::string> words) {
  if (words.front() == kPmixTool) words.front() = pmix_tool();
  return words;
}

// Chooses hosts and start method from the job of a scheduler in which scela-run runs, if there is
// one. Agents that all run here need no hosts, and no scheduler.
Result<LaunchChoice> choice_by_allocation(const Options& options, const LaunchContext& context,
                                          std::optional<LossTool>& tool) {
  if (options.sim_nodes || options.launch == LaunchMethod::local) return LaunchChoice();
  const Sources read = {[](const std::string& path) { return read_file(path, "host file"); },
                        [&](const std::vector<std::string>& words) {
                          if (words.front() == kPmixTool && !options.dry_run)
                            return ask_and_listen(found_words(words), context.environment,
                                                  options.connect_timeout, tool);
                          return output_of(found_words(words), context.environment,
                                           options.connect_timeout);
                        }};
  LaunchWish wish{options.launch,  options.launch_program, options.scheduler, {},
                  options.exclude, context.host_name};
  if (!names_no_hosts(options)) {
    if (options.launch != LaunchMethod::automatic) return LaunchChoice();
    const auto hosts = find_hosts(options, context);
    if (!hosts) return LaunchChoice();  // the plan reports it
    for (const HostEntry& host : *hosts)
      wish.hosts.push_back(host.name);
  }
  auto found = detect({context.environment, context.host_name, options.scheduler}, read);
  if (!found && !wish.hosts.empty() && !options.scheduler) {
    LaunchChoice ignored;
    ignored.lines = {cat("set aside, as the command line names hosts: ", found.error().text())};
    return ignored;
  }
  if (!found) return fail(std::move(found.error()));
  return choose_launch(wish, std::move(*found), Environment(context.environment));
}

// A variable or a configuration file sets habits of presentation, which must not change what a
// parallel program is. So only the command line counts.
bool asks_for_hosts(const Options& options) {
  const bool asks = std::ranges::any_of(options.settings, [](const OptionSetting& one) {
    const bool is_of_operators =
        one.name == "gather" || one.name == "diff" || one.name == "host-timeout";
    return is_of_operators && one.source.empty();
  });
  return asks && (options.gather || options.host_timeout) && options.apps.size() == 1 &&
         !options.apps[0].np && !options.apps[0].ppn && !options.rankfile &&
         options.placement == PlacementOptions();
}

}  // namespace

Result<FoundAllocation> use_allocation(Options& options, LaunchContext& context) {
  FoundAllocation out;
  auto choice = choice_by_allocation(options, context, out.loss_tool);
  if (!choice) return fail(std::move(choice.error()));
  if (!choice->program.empty()) {
    options.launch = LaunchMethod::program;
    options.launch_program = choice->program;
    options.launch_takes_port = false;
    options.launch_from_here = true;
  }
  if (choice->bulk) {
    options.launch = LaunchMethod::bulk;
    options.bulk = std::move(*choice->bulk);
  }
  options.hears_node_losses =
      choice->scheduler && tells_node_losses(*choice->scheduler, Environment(context.environment));
  context.allocation = std::move(choice->allocation);
  if (context.allocation && asks_for_hosts(options)) {
    options.on_each_host = true;
    for (AllocatedHost& host : context.allocation->hosts)
      host.slots.reset();
  }
  if (!options.hears_node_losses) out.loss_tool.reset();
  out.lines = std::move(choice->lines);
  return out;
}

}  // namespace scela
