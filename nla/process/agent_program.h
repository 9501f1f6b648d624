// The program of an agent: scela-nla, and scela-leaf for nodes that start no others. scela-run or
// another agent starts it, never a person.
//
//   scela-nla --link-fd N --name NODE [--mark ROOM]
//                                              the link is descriptor N, a socket; ROOM is written
//                                              over (nla/guard/agent_mark.h)
//   scela-nla --stdio --name NODE --id BUILD   the link is standard input and output, through a
//                                              remote shell; the agent first writes its build
//                                              (nla/core/tree/remote_shell.h)
//     --cached FILE                            its package is this file of the user's cache
//     --store FILE                             its package is new there (nla/pack/agent_cache.h)
//     --removed FILE                           that file of the cache had other bytes and is gone
//     --package FD                             its package, which it sends on to other nodes
//     --unlink FILE                            this program's file, which it removes
//
//   scela-nla --dial ADDRESS:PORT,... {--name-from VARIABLE | --own-name} --id BUILD
//                                              a bulk starter has started the agent, which connects
//                                              to scela-run (nla/dial/dial_in.h); VARIABLE has the
//                                              name of the node, or it is that of the machine
//
//   scela-nla --sweep --job ID --name-from VARIABLE
//                                              removes what the job has left on this node
//                                              (nla/node/job_sweep.h), and ends
//
//   ... --attach --job ID --wait MS [--directory BASE]
//                                              gives the link to the agent of this node that runs
//                                              already and has lost its parent
//                                              (nla/adopt/adoption.h)
//
// The process becomes the guardian, which forks the agent proper (nla/guard/guardian.h). Both stay
// until nothing of the job is left on the node.
#pragma once

namespace scela::nla {

struct NetworkParts;

// Runs the agent with the arguments of main(). `network` are its ssh and TLS
// (nla/spawn/factory.h), or nullptr. Returns the exit status only if no agent has begun:
// otherwise the process ends with it.
int run_agent_program(int argc, char** argv, const NetworkParts* network);

}  // namespace scela::nla
