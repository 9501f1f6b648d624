#include "nla/core/job/style_variables.h"

#include <algorithm>
#include <set>

#include "common/core/text.h"
#include "nla/core/job/meeting_ports.h"

namespace scela::nla {

namespace {

using enum Inherited;

// Collects the variables of a rank.
class Variables {
 public:
  Variables(const Training& training, const RankNodes& nodes, const RankNumbers& numbers)
      : training_(training), nodes_(nodes), numbers_(numbers) {}

  std::vector<StyleVariable> take() { return std::move(out_); }

  // DeepSpeed, Horovod and scripts for mpirun read MASTER_ADDR too, so every style has it.
  void add_master() {
    if (training_.master.port == 0) return;
    add("MASTER_ADDR", training_.master.address, stays);
    add("MASTER_PORT", training_.master.port, stays);
  }

  // These are torchrun's. GROUP_RANK, LOCAL_WORLD_SIZE and TORCHELASTIC_* show Lightning and torch
  // that each process is there already. If torch took an inherited TORCHELASTIC_USE_AGENT_STORE,
  // rank 0 would not listen.
  void add_torch() {
    add("RANK", numbers_.rank);
    add("WORLD_SIZE", numbers_.size);
    add("LOCAL_RANK", numbers_.local_rank);
    add("LOCAL_WORLD_SIZE", numbers_.local_size);
    add("LOCAL_SIZE", numbers_.local_size);  // DeepSpeed
    add("NODE_RANK", place());
    add("GROUP_RANK", place());
    add("GROUP_WORLD_SIZE", nodes_.size());
    add("ROLE_RANK", numbers_.rank);
    add("ROLE_WORLD_SIZE", numbers_.size);
    add("ROLE_NAME", "default");
    add("TORCHELASTIC_RUN_ID", training_.run_id);
    add("TORCHELASTIC_RESTART_COUNT", training_.restarts);
    add("TORCHELASTIC_MAX_RESTARTS", training_.max_restarts);
    add("TORCHELASTIC_USE_AGENT_STORE", "False");
    if (numbers_.local_size > 1) add("OMP_NUM_THREADS", 1, stays);
  }

  // JAX takes the address, and computes the port from the number of the job.
  void add_ompi() {
    for (const StyleVariable& variable : openmpi_variables(numbers_))
      add(variable.name, variable.value);
    const Rendezvous& master = training_.master;
    if (!has_meeting_port()) return;
    const bool is_v6 = master.address.find(':') != std::string::npos;
    add("OMPI_MCA_orte_hnp_uri",
        cat((master.port - kFirstMeetingPort) * 4096, ".0;",
            is_v6 ? cat("tcp6://[", master.address, "]:") : cat("tcp://", master.address, ":"),
            master.port));
  }

  // Hydra's own are there anyway if ranks use PMI over a descriptor.
  void add_mpich() {
    add("PMI_RANK", numbers_.rank);
    add("PMI_SIZE", numbers_.size);
    add("MV2_COMM_WORLD_RANK", numbers_.rank);
    add("MV2_COMM_WORLD_SIZE", numbers_.size);
    add("MV2_COMM_WORLD_LOCAL_RANK", numbers_.local_rank);
    add("MV2_COMM_WORLD_LOCAL_SIZE", numbers_.local_size);
  }

  // The number of the job is the one from which JAX computes MASTER_PORT.
  void add_slurm() {
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID"})
      if (has_meeting_port()) add(name, training_.master.port - kFirstMeetingPort + 4096, stays);
    for (const char* name : {"SLURM_STEP_ID", "SLURM_STEPID"})
      add(name, 0);
    add("SLURM_JOB_NAME", numbers_.program, replaced);
    add("SLURM_PROCID", numbers_.rank);
    add("SLURM_LOCALID", numbers_.local_rank);
    add("SLURM_NODEID", place());
    for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"})
      add(name, numbers_.size);
    add("SLURM_STEP_NUM_NODES", nodes_.size());
    for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"})
      add(name, nodes_.size(), replaced);
    add("SLURM_STEP_NODELIST", training_.node_list);
    for (const char* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST"})
      add(name, training_.node_list, replaced);
    add("SLURM_STEP_TASKS_PER_NODE", nodes_.tasks_per_node());
    add("SLURM_TASKS_PER_NODE", nodes_.tasks_per_node(), replaced);
    if (nodes_.are_even()) add("SLURM_NTASKS_PER_NODE", numbers_.local_size);
    add("SLURMD_NODENAME", numbers_.host, replaced);
  }

 private:
  template <class Value>
  void add(std::string_view name, const Value& value, Inherited inherited = removed) {
    const auto same = [&](const StyleVariable& one) { return one.name == name; };
    if (std::ranges::none_of(out_, same))
      out_.push_back({std::string(name), cat(value), inherited});
  }

  std::size_t place() const { return nodes_.place_of(numbers_.node); }
  bool has_meeting_port() const { return training_.master.port >= kFirstMeetingPort; }

  const Training& training_;
  const RankNodes& nodes_;
  const RankNumbers& numbers_;
  std::vector<StyleVariable> out_;
};

}  // namespace

RankNodes::RankNodes(const RankMap& map) {
  std::vector<std::size_t> places;  // by node; 0: none yet, else the place + 1
  for (const RankMap::Block& block : map.blocks()) {
    places.resize(std::max<std::size_t>(places.size(), block.first_node + block.nodes), 0);
    for (std::uint32_t node = block.first_node; node < block.first_node + block.nodes; ++node) {
      if (places[node] == 0) {
        nodes_.push_back(node);
        ranks_.push_back(0);
        places[node] = nodes_.size();
      }
      ranks_[places[node] - 1] += block.ranks_per_node;
    }
  }
}

std::size_t RankNodes::place_of(std::uint32_t node) const {
  return static_cast<std::size_t>(std::ranges::find(nodes_, node) - nodes_.begin());
}

std::string RankNodes::tasks_per_node() const {
  std::string text;
  for (std::size_t first = 0; first < ranks_.size();) {
    std::size_t end = first + 1;
    while (end < ranks_.size() && ranks_[end] == ranks_[first])
      ++end;
    const std::string times = end - first > 1 ? cat("(x", end - first, ")") : "";
    text += cat(text.empty() ? "" : ",", ranks_[first], times);
    first = end;
  }
  return text;
}

bool RankNodes::are_even() const {
  return std::ranges::all_of(ranks_, [&](std::uint32_t ranks) { return ranks == ranks_.front(); });
}

std::vector<StyleVariable> openmpi_variables(const RankNumbers& numbers) {
  return {{"OMPI_COMM_WORLD_RANK", cat(numbers.rank)},
          {"OMPI_COMM_WORLD_SIZE", cat(numbers.size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", cat(numbers.local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", cat(numbers.local_size)},
          {"OMPI_COMM_WORLD_NODE_RANK", cat(numbers.node_rank)},
          {"OMPI_UNIVERSE_SIZE", cat(numbers.universe)}};
}

std::vector<StyleVariable> style_variables(const Training& training, const RankNodes& nodes,
                                           const RankNumbers& numbers) {
  Variables variables(training, nodes, numbers);
  if (training.styles.any()) variables.add_master();
  if (training.styles.torch) variables.add_torch();
  if (training.styles.ompi) variables.add_ompi();
  if (training.styles.mpich) variables.add_mpich();
  if (training.styles.slurm) variables.add_slurm();
  return variables.take();
}

bool is_of_outer_rank(std::string_view name) {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> all = {"SLURM_GTIDS", "SLURM_TASK_PID"};
    Training training;
    training.styles = {true, true, true, true};
    training.master = {"127.0.0.1", kFirstMeetingPort};
    for (StyleVariable& variable : style_variables(training, RankNodes(), {}))
      if (variable.inherited == removed) all.insert(std::move(variable.name));
    return all;
  }();
  return names.contains(name);
}

}  // namespace scela::nla
