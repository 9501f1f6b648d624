#include "comm-channel/core/connect/connection_table.h"

namespace scela::channel::connect {

std::string_view table_of_states() {
  return R"(| link | none | queued on wanted; making on wanted |
| link | queued | making on time, drained, peer ended |
| link | making | none on made, failed; asking on made |
| link | asking | none on refuse, leave, time, peer ended, leaving; connecting on accept |
| link | connecting | ready on connected; draining on connected |
| link | ready | none on drained, broken, peer ended; making on refuse, broken, peer ended; draining on refuse, leave, wanted, leaving |
| link | draining | none on drained, peer ended; queued on drained; making on drained, peer ended |
| peer | idle | waiting on wanted; joining on wanted; ready on wanted |
| peer | waiting | idle on failed, peer ended; asking on refuse, time, made, peer ended; joining on connected; ready on connected |
| peer | asking | idle on refuse, leave, time, peer ended, leaving; ready on connected; draining on connected |
| peer | joining | idle on time, peer ended; waiting on refuse, broken, peer ended; ready on joined |
| peer | ready | idle on broken, peer ended; draining on refuse, leave, wanted, leaving |
| peer | draining | idle on drained, peer ended; waiting on drained |
| hold | none | making on connect, join; held on join |
| hold | making | none on failed; held on made |
| hold | held | none on close, peer ended; making on connect, join; leaving on leaving |
| hold | leaving | none on close, time, peer ended |
| pair | none | queued on wanted; making on connect, wanted |
| pair | queued | none on peer ended; making on close, closed, time, peer ended |
| pair | making | none on failed; asking on made; connecting on made |
| pair | asking | none on refuse, close, time, peer ended; connecting on connect, accept; closing on leaving |
| pair | connecting | none on close, peer ended; answering on connected; ready on connected; draining on connected; closing on leaving |
| pair | answering | none on close, time, peer ended; ready on confirm; closing on leaving |
| pair | ready | none on close, peer ended; draining on close, wanted, time, leaving; closing on broken |
| pair | draining | none on drained, peer ended; making on connect; closing on drained |
| pair | closing | none on close, closed, time, peer ended; queued on close, closed, time; making on connect, close, closed, time |
)";
}

}  // namespace scela::channel::connect
