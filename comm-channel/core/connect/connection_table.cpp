#include "comm-channel/core/connect/connection_table.h"

namespace scela::channel::connect {

std::string_view table_of_states() {
  return R"(| link | none | wanted | queued |
| link | none | wanted | making |
| link | queued | time, drained, peer ended | making |
| link | making | made, failed | none |
| link | making | made | asking |
| link | asking | refuse, leave, time, peer ended, leaving | none |
| link | asking | accept | connecting |
| link | connecting | connected | ready |
| link | connecting | connected | draining |
| link | ready | drained, broken, peer ended | none |
| link | ready | refuse, broken, peer ended | making |
| link | ready | refuse, leave, wanted, leaving | draining |
| link | draining | drained, peer ended | none |
| link | draining | drained | queued |
| link | draining | drained, peer ended | making |
| peer | idle | wanted | waiting |
| peer | idle | wanted | joining |
| peer | idle | wanted | ready |
| peer | waiting | failed, peer ended | idle |
| peer | waiting | refuse, time, made, peer ended | asking |
| peer | waiting | connected | joining |
| peer | waiting | connected | ready |
| peer | asking | refuse, leave, time, peer ended, leaving | idle |
| peer | asking | connected | ready |
| peer | asking | connected | draining |
| peer | joining | time, peer ended | idle |
| peer | joining | refuse, broken, peer ended | waiting |
| peer | joining | joined | ready |
| peer | ready | broken, peer ended | idle |
| peer | ready | refuse, leave, wanted, leaving | draining |
| peer | draining | drained, peer ended | idle |
| peer | draining | drained | waiting |
| hold | none | connect, join | making |
| hold | none | join | held |
| hold | making | failed | none |
| hold | making | made | held |
| hold | held | close, peer ended | none |
| hold | held | connect, join | making |
| hold | held | leaving | leaving |
| hold | leaving | close, time, peer ended | none |
| pair | none | wanted | queued |
| pair | none | connect, wanted | making |
| pair | queued | peer ended | none |
| pair | queued | close, closed, time, peer ended | making |
| pair | making | failed | none |
| pair | making | made | asking |
| pair | making | made | connecting |
| pair | asking | refuse, close, time, peer ended | none |
| pair | asking | connect, accept | connecting |
| pair | asking | leaving | closing |
| pair | connecting | close, peer ended | none |
| pair | connecting | connected | answering |
| pair | connecting | connected | ready |
| pair | connecting | connected | draining |
| pair | connecting | leaving | closing |
| pair | answering | close, time, peer ended | none |
| pair | answering | confirm | ready |
| pair | answering | leaving | closing |
| pair | ready | close, peer ended | none |
| pair | ready | close, wanted, time, leaving | draining |
| pair | ready | broken | closing |
| pair | draining | drained, peer ended | none |
| pair | draining | connect | making |
| pair | draining | drained | closing |
| pair | closing | close, closed, time, peer ended | none |
| pair | closing | close, closed, time | queued |
| pair | closing | connect, close, closed, time | making |
)";
}

}  // namespace scela::channel::connect
