// The interface of a launcher, in any protocol, to the ranks of a job: which rank a process is,
// pairs of key and value that can be read after a fence, and leaving. The bootstrap uses it, in one
// thread, except for abort().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela::channel {

// The facts that the launcher tells each process. `job` is a name that no other job of the launcher
// has.
struct Place {
  int rank = 0;
  int size = 1;  // ranks of the job
  std::string job;
  std::vector<std::string> node_names;  // by rank; empty: not told
};

class Space {
 public:
  virtual ~Space() = default;
  virtual const Place& place() const = 0;
  // Returns text for errors, such as "PMI-1 by PMI_FD 5, job x". May be called at any time.
  virtual std::string describe() const = 0;
  // put(), fence() and get() have the contract of Bootstrap (bootstrap.h).
  virtual Result<void> put(std::string_view key, std::string_view bytes) = 0;
  virtual Result<void> fence() = 0;
  virtual Result<std::string> get(int rank, std::string_view key) = 0;
  // Returns whether the launcher says that the rank has failed; false if it does not tell.
  virtual bool has_failed(int) { return false; }
  // Asks the launcher whether it knows by now that a rank has left or ended.
  virtual bool has_left(int) { return false; }
  // Returns whether the launcher shows the text of an abort to the user.
  virtual bool shows_texts() const { return false; }
  virtual void abort(int code, std::string_view text) = 0;  // tells the launcher; returns
  // Tells the launcher that this process leaves. No other function may be called afterwards.
  virtual Result<void> leave() = 0;
};

// SCELA_BOOTSTRAP names the kind of launcher; `by_environment` means that it names none.
enum class SpaceKind : unsigned char { by_environment, pmi1, pmi2, pmix, alone };

// Opens the space of a process without a launcher: one rank.
std::unique_ptr<Space> open_alone();
// Uses PMI_FD or PMI_PORT, in PMI-1, or in PMI-2 if the server supports nothing else. `kind` may
// say which. Returns null if the environment names no server.
Result<std::unique_ptr<Space>> open_pmi(SpaceKind kind);
// Uses libpmix.so.2, or the file that SCELA_LIBPMIX names.
Result<std::unique_ptr<Space>> open_pmix();

}  // namespace scela::channel
