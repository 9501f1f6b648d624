// scela-nla: the agent of one node (nla/process/agent_program.h).

#include "nla/process/agent_program.h"
#include "nla/spawn/factory.h"

int main(int argc, char** argv) {
  return scela::nla::run_agent_program(argc, argv, &scela::nla::network_parts());
}
