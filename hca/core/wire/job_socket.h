// The name of an engine's socket, which says the job that the engine serves; one user may have
// several engines on a node. The library and the engine use these pure functions.
//
// Programs of one job must find the same engine, and programs of another job a different one. So
// the name is made from what the launcher has put into their environment, or from what they have
// said themselves (scela_hca_join). If neither names a job, there is one engine, "socket".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace scela::hca {

// The longest word, in characters, that file_word() leaves as it is. A socket's path has at most
// 107 characters, and the word is a part of it.
inline constexpr std::size_t kMaxOfJob = 40;

// Returns a hash of the text (64-bit FNV-1a). Different texts almost always have different hashes;
// the hash is not cryptographic.
constexpr std::uint64_t number_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

// Makes a word that can be part of a file name. Returns the text itself if it has at most kMaxOfJob
// characters, all of them letters, digits, '.', '_' or '-'. Otherwise returns "x" and the 16
// hexadecimal digits of its hash.
inline std::string file_word(std::string_view text) {
  constexpr std::string_view kGood =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (text.size() <= kMaxOfJob && text.find_first_not_of(kGood) == text.npos) {
    return std::string(text);
  }
  const std::uint64_t hash = number_of(text);
  std::string word = "x";
  for (int shift = 60; shift >= 0; shift -= 4)
    word += "0123456789abcdef"[hash >> shift & 15];
  return word;
}

// Returns the job that the launcher has named in the environment, as a word for socket_name(), or
// an empty string. It looks for PMIX_NAMESPACE, PMI_JOBID, and SLURM_JOB_ID with SLURM_STEP_ID, in
// this order. `variable(name)` must return the value of an environment variable, or an empty
// string.
template <class Variable>
std::string launchers_job(Variable&& variable) {
  for (const auto& [name, kind] : {std::pair{"PMIX_NAMESPACE", "pmix-"}, {"PMI_JOBID", "pmi-"}})
    if (const std::string value = variable(name); !value.empty()) return kind + file_word(value);
  const std::string job = variable("SLURM_JOB_ID"), step = variable("SLURM_STEP_ID");
  if (job.empty()) return {};
  return "slurm-" + file_word(step.empty() ? job : job + "." + step);
}

// Returns the word for socket_name() of a job that a program has joined (scela_hca_join); it has
// precedence over the launcher's. `name` is the job's, `node` the node's number. The word contains
// the number because several nodes may be simulated on one machine.
inline std::string joined_job(std::string_view name, std::uint32_t node) {
  return "job-" + file_word(name) + "." + std::to_string(node);
}

// Returns the file name of the socket, without a folder. `job` is a word from launchers_job() or
// joined_job(), or empty if no job is named.
inline std::string socket_name(std::string_view job) {
  return job.empty() ? "socket" : "socket." + std::string(job);
}

}  // namespace scela::hca
