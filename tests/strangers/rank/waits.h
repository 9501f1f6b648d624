// The orders in which a rank waits for what it has begun. One thread uses this part.
#pragma once

#include <vector>

#include "tests/strangers/rank/rank_requests.h"

namespace strangers {

class Waits {
 public:
  Waits(Situation& situation, Requests& requests) : situation_(situation), requests_(requests) {}

  // The step wait.
  void wait(const Scene& scene);

 private:
  // Returns what the step waits for, in the step's order.
  std::vector<Begun*> choose(const Step& step) const;
  void wait_in_order(const std::vector<Begun*>& chosen);
  void wait_by_tests(const std::vector<Begun*>& chosen);
  void wait_any(std::vector<Begun*> chosen);
  void wait_all();
  // Waits for messages alone, which moves no operations.
  void wait_messages(const std::vector<Begun*>& chosen);
  // Waits for all operations as for requests that stand side by side.
  void wait_operations(const std::vector<Begun*>& chosen);

  Situation& situation_;
  Requests& requests_;
};

}  // namespace strangers
