// scela-leaf: the agent of one node that starts no others, without ssh and TLS: half the size of
// scela-nla. It is only sent, and is scela-nla on the node (nla/pack/package_format.h).

#include "nla/process/agent_program.h"

int main(int argc, char** argv) {
  return scela::nla::run_agent_program(argc, argv, nullptr);
}
