// The needs of a job of a training framework (torch.distributed, JAX, Lightning, DeepSpeed,
// Horovod, Dask) beside those of other jobs: the variables by which such programs find each other,
// the GPUs of each rank, and how often the job was started. It is a part of Job.
#pragma once

#include <cstdint>
#include <string>

namespace scela::nla {

// The launchers of which the ranks get the variables, beside those of ScELA (--env-style).
struct EnvStyles {
  bool torch = false;  // torchrun: RANK, WORLD_SIZE, LOCAL_RANK, ...
  bool ompi = false;   // Open MPI's mpirun: OMPI_COMM_WORLD_RANK, ...
  bool mpich = false;  // Hydra and MVAPICH: PMI_RANK, MV2_COMM_WORLD_RANK, ...
  bool slurm = false;  // srun: SLURM_PROCID, SLURM_NTASKS, SLURM_STEP_NODELIST, ...
  // Returns true if there is any of them.
  bool any() const { return torch || ompi || mpich || slurm; }
  friend bool operator==(const EnvStyles&, const EnvStyles&) = default;
};

// A place where the ranks of a job meet: rank 0 listens there, and the others connect to it.
struct Rendezvous {
  std::string address;     // numeric, IPv4 or IPv6; empty: there is none
  std::uint16_t port = 0;  // free when the node was asked; 0: there is none
  friend bool operator==(const Rendezvous&, const Rendezvous&) = default;
};

// The properties of a training job.
struct Training {
  EnvStyles styles;
  Rendezvous master;  // of rank 0's node, if there are styles (MASTER_ADDR, MASTER_PORT)
  // The names of the nodes with ranks, separated by commas, rank 0's first. Only for styles.slurm.
  std::string node_list;
  // %h, %n, %r, %j and %u in the words of programs are replaced (nla/core/job/word_parts.h).
  bool expands_words = false;
  std::uint32_t gpus_per_rank = 0;  // 0: the ranks' GPUs are not chosen
  // The number of starts before this one, and the most further starts of a job (--restart). Ranks
  // are told if max_restarts is not 0.
  std::uint32_t restarts = 0;
  std::uint32_t max_restarts = 0;
  std::string run_id;  // the same for all starts of a job, unlike Job::id

  // Returns true if the job was started before.
  bool is_restart() const { return restarts > 0; }
  friend bool operator==(const Training&, const Training&) = default;
};

}  // namespace scela::nla
