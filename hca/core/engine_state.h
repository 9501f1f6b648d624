// The interpreter's parts and how they are connected. Only engine.cpp includes it; like the Engine
// it belongs to, it is used by one thread.
//
// Each part is made after those that it refers to:
//
//   the objects     ObjectTables, MulticastGroups, LocalPorts
//   their queues    Scheduler, RequestTrace, FaultInjector, CompletionWriter, ReceiveQueue
//   their memory    KeptBytes, TransferSteps, MemoryTransfers, PayloadCopier
//   frames          FrameSender, LateFrames, PartSender, RequestInbox
//   their work      QpShutdown, SendWindow, Responder, RemoteResponder, RemoteRequester,
//                   DatagramReceiver, DatagramSender, ManagementTasks, Requester, QueueRunner
//   processes       QpControl, ObjectControl
#pragma once

#include "common/core/random.h"
#include "hca/core/control/object_control.h"
#include "hca/core/control/qp_control.h"
#include "hca/core/frames/frame_sender.h"
#include "hca/core/frames/late_frames.h"
#include "hca/core/frames/part_sender.h"
#include "hca/core/frames/request_inbox.h"
#include "hca/core/interp/queue_runner.h"
#include "hca/core/model/engine.h"
#include "hca/core/model/multicast_groups.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/receive_queue.h"

namespace scela::hca {

// Does what Engine does (hca/core/model/engine.h), which only passes calls on.
class Engine::State {
 public:
  State(Host& host, const Settings& settings);

  // Adds a process that opens the device, with its page of doorbells.
  void attach(ProcessId process, ProcessPage& page);
  // Removes a process that has closed the device or died, and destroys its objects.
  void detach(ProcessId process);
  // Carries out a request of a process (hca/core/wire/engine_messages.h) and returns its answer.
  // Completions that a strict engine holds back are reported first.
  Answer ask(ProcessId process, const Ask& ask);
  // Executes posted requests, a bounded number of them. Returns true if there is more to do at
  // once.
  bool run(Moment now);
  // Returns true if a doorbell of any process is set.
  bool wanted() const;
  // Returns the time at which run() must be called even if no doorbell rings, or std::nullopt.
  std::optional<Moment> deadline() const;
  // Returns true if an injected fault has ended the engine (Faults::dies_after).
  bool has_died() const { return faults_.has_died(); }
  // Counts all objects, and returns the figures of all processes.
  NodeCounters counters() const { return counters_of(objects_); }
  // Sets the observer of the engine's work; null removes it.
  void watch(TraceSink* sink) { trace_.watch(sink); }
  // Executes or keeps a frame of another node's engine. Returns false if it is no valid frame.
  bool receive(std::uint32_t node, std::span<const std::byte> frame, Moment now);
  // Schedules the queue pairs that wait until the node can be sent to.
  void writable(std::uint32_t node) { frames_.writable(node); }
  // Notes that the connection to the node has ended: what was not answered is sent again.
  void lost(std::uint32_t node, Moment now);

 private:
  // Returns true if the engine executes nothing now, because of an injected fault or its death
  // (Faults).
  bool rests() const { return faults_.rests(scheduler_.now()); }
  // Schedules the queue pairs at the doorbells that were rung, and clears the doorbells.
  void poll_doorbells();
  // Runs scheduled queue pairs, a bounded number of turns and bytes.
  void run_queue_pairs();
  // Sends or delivers the late datagrams that are due (LateFrames).
  void deliver_late();
  // Executes a frame from `node`; 0 stands for a late datagram of this node. Returns false if the
  // bytes are no valid frame.
  bool receive_frame(std::uint32_t node, std::span<const std::byte> frame);
  // Passes a frame from `node` to each member of its group on this node.
  void receive_for_group(std::uint32_t node, FrameHeader header, std::span<const std::byte> frame);

  Host& host_;
  const Settings settings_;
  Random random_{settings_.seed};
  const bool is_strict_ = settings_.seed != 0;

  ObjectTables objects_;
  MulticastGroups groups_;
  const LocalPorts ports_{settings_.gid, settings_.first_lid};

  Scheduler scheduler_{objects_, random_, is_strict_};
  RequestTrace trace_;
  FaultInjector faults_{settings_.faults, random_};
  CompletionWriter completions_{host_, objects_, scheduler_, trace_, random_, is_strict_};
  ReceiveQueue receives_{objects_, completions_};

  KeptBytes kept_{objects_, scheduler_};
  TransferSteps steps_{host_, objects_, scheduler_, kept_};
  MemoryTransfers memory_{host_, steps_};
  PayloadCopier payloads_{memory_, settings_.seed};

  FrameSender frames_{host_, scheduler_};
  LateFrames late_;
  PartSender parts_{ports_, memory_, frames_, late_};
  RequestInbox inbox_{scheduler_, kept_, steps_, frames_};

  QpShutdown shutdown_{scheduler_, completions_, receives_, steps_, inbox_};
  SendWindow window_{scheduler_, completions_, trace_, faults_, steps_, shutdown_};
  Responder responder_{objects_, scheduler_, faults_,   completions_, receives_,
                       steps_,   memory_,    payloads_, shutdown_};
  DatagramReceiver datagram_receiver_{objects_, steps_, payloads_, receives_, shutdown_};
  RemoteResponder remote_responder_{objects_, scheduler_, steps_,     memory_,
                                    frames_,  inbox_,     responder_, datagram_receiver_};
  RemoteRequester remote_requester_{objects_,  scheduler_, kept_,  steps_,
                                    payloads_, frames_,    parts_, window_};
  DatagramSender datagram_sender_{host_,  ports_,  groups_, scheduler_, faults_,           late_,
                                  steps_, memory_, frames_, parts_,     datagram_receiver_};
  ManagementTasks tasks_{objects_, scheduler_, memory_};
  Requester requester_{objects_, ports_, scheduler_,       steps_,     payloads_,
                       window_,  tasks_, datagram_sender_, responder_, remote_requester_};
  QueueRunner runner_{scheduler_, trace_,     faults_,           steps_,           shutdown_,
                      window_,    requester_, remote_requester_, remote_responder_};

  QpControl queue_pairs_{host_,   host_,      settings_,    ports_,  objects_,
                         groups_, scheduler_, completions_, window_, shutdown_};
  ObjectControl control_{host_, settings_, ports_, objects_, groups_, queue_pairs_};
};

}  // namespace scela::hca
