// Tests which hosts and which start method are chosen from what was detected.
#include "launcher/core/detect/launch_choice.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

namespace scela {
namespace {

using Words = std::vector<std::string>;

Detection detection_of(Scheduler scheduler) {
  return {Allocation{scheduler, "7", {{"n1", 2, std::nullopt}, {"n2", 2, std::nullopt}}, "V=/f"},
          {}};
}

Result<LaunchChoice> chosen(Scheduler scheduler, const LaunchWish& wish = {},
                            const Words& environment = {}) {
  return choose_launch(wish, detection_of(scheduler), Environment(environment));
}

LaunchWish hosts(Words names, std::optional<Scheduler> scheduler = std::nullopt) {
  return {LaunchMethod::automatic, "", scheduler, std::move(names), {}, {}};
}

TEST_CASE("launch choice: without an allocation nothing changes and nothing is said") {
  const auto none = choose_launch({}, Detection(), Environment(Words()));
  REQUIRE(none);
  CHECK_FALSE(none->allocation);
  CHECK(none->program.empty());
  CHECK(none->lines.empty());
}

TEST_CASE("launch choice: Grid Engine's hosts are used, and its command where the job has it") {
  const Words environment = {"SGE_ROOT=/sge", "ARC=lx-amd64"};
  const auto choice = chosen(Scheduler::grid_engine, {}, environment);
  REQUIRE(choice);
  CHECK(choice->allocation->hosts.size() == 2);
  CHECK(choice->program == "/sge/bin/lx-amd64/qrsh -inherit");
  CHECK(choice->lines ==
        Words{"allocation: Grid Engine, job 7: 2 hosts, 4 slots (V=/f)",
              "agents: by '/sge/bin/lx-amd64/qrsh -inherit' on each host, from this machine"});
  CHECK(chosen(Scheduler::grid_engine)->program == "qrsh -inherit");
  CHECK(chosen(Scheduler::grid_engine, {}, {"SGE_ROOT=/a b", "ARC=x"})->program == "qrsh -inherit");
}

TEST_CASE("launch choice: LSF's and HTCondor's commands") {
  CHECK(chosen(Scheduler::lsf, {}, {"LSF_BINDIR=/lsf/bin"})->program == "/lsf/bin/blaunch");
  CHECK(chosen(Scheduler::lsf)->program == "blaunch");
  CHECK(chosen(Scheduler::condor)->program == "condor_ssh");
}

TEST_CASE("launch choice: one command starts the agents of all hosts, in Slurm and in Flux") {
  for (const auto& [scheduler, command] :
       {std::pair{Scheduler::slurm, "srun"}, {Scheduler::flux, "flux exec"}}) {
    const auto choice = chosen(scheduler);
    REQUIRE(choice->bulk);
    CHECK(choice->bulk->scheduler == scheduler);
    CHECK(choice->bulk->command == command);
    CHECK(choice->bulk->hosts.size() == 2);
    CHECK(choice->program.empty());
    CHECK(choice->lines.back() == cat("agents: by one ", command, " for all hosts"));
    CHECK(chosen(scheduler, hosts({}, scheduler))->bulk);
    CHECK(chosen(scheduler, hosts({"n2"}))->bulk->hosts.size() == 2);
    const auto ssh = chosen(scheduler, {LaunchMethod::ssh, "", {}, {}, {}, {}});
    CHECK_FALSE(ssh->bulk);
    CHECK(ssh->lines.back() == "agents: over ssh (--launch)");
  }
}

TEST_CASE("launch choice: pbsdsh brings agents no secret, so they are started over ssh") {
  const auto choice = chosen(Scheduler::pbs);
  REQUIRE(choice);
  CHECK_FALSE(choice->bulk);
  CHECK(choice->allocation);
  CHECK(choice->program.empty());
  CHECK(choice->lines.back() == "agents: over ssh, as pbsdsh carries no standard input to them");
  const auto refused = chosen(Scheduler::pbs, hosts({}, Scheduler::pbs));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find("agents get no secret by pbsdsh") != std::string::npos);
}

TEST_CASE("launch choice: a job that has only this machine needs no command") {
  const std::string alone = "agents: by scela-run itself, on this machine only";
  LaunchWish wish;
  wish.host_name = "n1";
  CHECK(chosen(Scheduler::slurm, wish)->lines.back() == "agents: by one srun for all hosts");
  wish.exclude = "n2";
  CHECK(chosen(Scheduler::slurm, wish)->lines.back() == alone);
  CHECK(chosen(Scheduler::grid_engine, wish)->lines.back() == alone);
  wish.exclude = "n1";
  CHECK(chosen(Scheduler::slurm, wish)->lines.back() == "agents: by one srun for all hosts");
  wish.exclude.reset();
  wish.hosts = {"n1"};
  CHECK(chosen(Scheduler::slurm, wish)->lines.back() == alone);
  wish.hosts = {"n1", "n2"};
  CHECK(chosen(Scheduler::slurm, wish)->lines.back() == "agents: by one srun for all hosts");
  wish.hosts.clear();
  wish.host_name = "n1.cluster";
  const Detection one{Allocation{Scheduler::flux, "", {{"n1", std::nullopt, std::nullopt, 0}}, "V"},
                      {}};
  CHECK(choose_launch(wish, one, Environment(Words()))->lines.back() == alone);
}

TEST_CASE("launch choice: a start method that the user names is kept, on the job's hosts") {
  const auto ssh = chosen(Scheduler::grid_engine, {LaunchMethod::ssh, "", {}, {}, {}, {}});
  CHECK(ssh->program.empty());
  CHECK(ssh->allocation);
  CHECK(ssh->lines.back() == "agents: over ssh (--launch)");
  const auto rsh = chosen(Scheduler::grid_engine, {LaunchMethod::program, "rsh", {}, {}, {}, {}});
  CHECK(rsh->lines.back() == "agents: by 'rsh' (--launch)");
}

TEST_CASE("launch choice: named hosts of the job are started by its command") {
  const auto choice = chosen(Scheduler::grid_engine, hosts({"n2"}));
  CHECK_FALSE(choice->allocation);
  CHECK(choice->program == "qrsh -inherit");
}

TEST_CASE("launch choice: with hosts that are not of the job, the job is set aside") {
  const auto choice = chosen(Scheduler::grid_engine, hosts({"other", "another"}));
  REQUIRE(choice);
  CHECK_FALSE(choice->allocation);
  CHECK(choice->program.empty());
  CHECK(choice->lines == Words{"set aside: Grid Engine, job 7: 2 hosts, 4 slots (V=/f); 'other' is "
                               "not a host of it"});
  const auto refused = chosen(Scheduler::grid_engine, hosts({"other"}, Scheduler::grid_engine));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().where == "other");
}

TEST_CASE("launch choice: a host that is not of the job is refused beside one that is") {
  const auto refused = chosen(Scheduler::grid_engine, hosts({"n2", "other"}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().where == "other");
  LaunchWish over_ssh = hosts({"n2", "other"});
  over_ssh.method = LaunchMethod::ssh;
  CHECK(chosen(Scheduler::grid_engine, over_ssh));
}

TEST_CASE("launch choice: each allocation that is not used has a line with how to choose it") {
  Detection two = detection_of(Scheduler::slurm);
  two.set_aside = {{Scheduler::pbs, "PBS: 1 host (X)"}, {Scheduler::host_file, "a host file"}};
  const auto choice = choose_launch({}, two, Environment(Words()));
  REQUIRE(choice->lines.size() == 4);
  CHECK(choice->lines[2] == "set aside: PBS: 1 host (X); --launch pbs chooses it");
  CHECK(choice->lines[3] == "set aside: a host file");
}

}  // namespace
}  // namespace scela
