// SPDX-License-Identifier: Apache-2.0
// Workers as threads of one process: who is who by the environment, and what they tell each other over
// their star. What becomes of a run that loses one is in tests/tool/workers_test.py.
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/workers/place.h"
#include "runtime/workers/star.h"

namespace tilefuse::runtime {
namespace {

WorkerPlace place_of(const std::map<std::string, std::string> &variables) {
  return worker_place([&](const char *name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(WorkerPlace, IsAloneWhereNobodySpeaks) {
  EXPECT_EQ(place_of({}).count, 1);
  // A script of sbatch is in an allocation, but in no step.
  EXPECT_EQ(place_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}}).count,
            1);
}

TEST(WorkerPlace, IsSaidByTorchrun) {
  const WorkerPlace place = place_of({{"RANK", "3"},
                                      {"WORLD_SIZE", "4"},
                                      {"LOCAL_RANK", "1"},
                                      {"LOCAL_WORLD_SIZE", "2"},
                                      {"MASTER_ADDR", "node1"},
                                      {"MASTER_PORT", "29500"},
                                      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                      {"TORCHELASTIC_RUN_ID", "job 7"},
                                      {"OMPI_COMM_WORLD_RANK", "0"},
                                      {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.count, 4);
  EXPECT_EQ(place.local, 1);
  EXPECT_EQ(place.address, "node1");
  EXPECT_EQ(place.port, 29501); // torchrun itself is at 29500
  EXPECT_EQ(place.token, "job 7");
  EXPECT_FALSE(place.has_mpi);
  EXPECT_FALSE(place.is_one_host);
}

TEST(WorkerPlace, IsSaidByOpenMpi) {
  const WorkerPlace place = place_of({{"OMPI_COMM_WORLD_RANK", "1"},
                                      {"OMPI_COMM_WORLD_SIZE", "2"},
                                      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.local, 1);
  EXPECT_TRUE(place.has_mpi);
  EXPECT_TRUE(place.is_one_host);
}

// As mpiexec.hydra sets them.
TEST(WorkerPlace, IsSaidByMpich) {
  const WorkerPlace place = place_of({{"PMI_RANK", "2"},
                                      {"PMI_SIZE", "8"},
                                      {"PMI_FD", "9"},
                                      {"MPI_LOCALRANKID", "0"},
                                      {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(place.rank, 2);
  EXPECT_EQ(place.count, 8);
  EXPECT_EQ(place.local, 0);
  EXPECT_TRUE(place.has_mpi);
  EXPECT_FALSE(place.is_one_host);
  EXPECT_EQ(place_of({{"PMI_RANK", "2"}, {"PMI_SIZE", "8"}}).local, std::nullopt);
}

// By itself, with its PMI for MPICH, and with PMIx for Open MPI.
TEST(WorkerPlace, IsSaidBySlurm) {
  std::map<std::string, std::string> step{
      {"SLURM_PROCID", "5"},         {"SLURM_NTASKS", "16"},
      {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"},
      {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}};
  WorkerPlace place = place_of(step);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.count, 8);
  EXPECT_EQ(place.local, 1);
  EXPECT_FALSE(place.has_mpi);
  EXPECT_FALSE(place.is_one_host);
  step["PMIX_RANK"] = "5";
  EXPECT_TRUE(place_of(step).has_mpi);
  step["PMI_RANK"] = "5";
  step["PMI_SIZE"] = "8";
  step["SLURM_STEP_NUM_NODES"] = "1";
  place = place_of(step);
  EXPECT_TRUE(place.has_mpi);
  EXPECT_EQ(place.local, 1) << "which PMI does not say";
  EXPECT_TRUE(place.is_one_host);
}

TEST(WorkerPlace, NamesTheVariableThatIsWrong) {
  EXPECT_THROW(place_of({{"RANK", "two"}, {"WORLD_SIZE", "4"}}), Error);
  EXPECT_THROW(place_of({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), Error);
  EXPECT_THROW(place_of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "-1"}}), Error);
  EXPECT_THROW(place_of({{"MASTER_PORT", "70000"}}), Error);
}

// What each of `count` workers does, in a thread each.
void run_stars(int count, const std::function<void(Star &)> &work, double patience = 20) {
  Listener listener("127.0.0.1", 0);
  WorkerPlace place{.count = count, .address = "127.0.0.1", .port = listener.port(), .token = "t"};
  std::vector<std::thread> threads;
  for (int rank = 1; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      WorkerPlace own = place;
      own.rank = rank;
      Star star({.place = own, .device = "cpu", .patience = patience});
      work(star);
    });
  {
    Star star({.place = place, .device = "cpu", .patience = patience}, std::move(listener));
    work(star);
  }
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Star, GathersAndTells) {
  run_stars(3, [](Star &star) {
    const std::string own = std::string(static_cast<std::size_t>(star.rank()), 'x');
    EXPECT_EQ(star.gather(own), (std::vector<std::string>{"", "x", "xx"}));
    EXPECT_EQ(star.broadcast("of " + std::to_string(star.rank())), "of 0");
    EXPECT_TRUE(star.name(2).starts_with("rank 2 (")) << star.name(2);
  });
}

TEST(Star, SwapsGathersAndSumsParts) {
  run_stars(4, [](Star &star) {
    const auto rank = static_cast<float>(star.rank());
    std::vector<float> from, to(8);
    for (int worker = 0; worker < 4; ++worker)
      from.insert(from.end(), {10 * rank + static_cast<float>(worker), 0.5F});
    star.swap_parts(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)));
    for (int worker = 0; worker < 4; ++worker) {
      const std::span<const float> part =
          std::span(to).subspan(2 * static_cast<std::size_t>(worker));
      const bool is_own = worker == star.rank(); // stays where it is
      EXPECT_EQ(part[0], is_own ? 0 : 10 * static_cast<float>(worker) + rank);
      EXPECT_EQ(part[1], is_own ? 0 : 0.5F);
    }

    std::vector<float> all(4, -1);
    all[static_cast<std::size_t>(star.rank())] = rank;
    star.gather_parts(std::as_writable_bytes(std::span(all)));
    EXPECT_EQ(all, (std::vector<float>{0, 1, 2, 3}));

    std::vector<float> sums{rank, 1};
    star.sum(sums);
    EXPECT_EQ(sums, (std::vector<float>{6, 4}));
  });
}

// Who comes with another token, or says what no worker says, is not let in, and keeps nobody out.
TEST(Star, LetsNobodyInWithoutTheToken) {
  Listener listener("127.0.0.1", 0);
  const WorkerPlace place{
      .count = 2, .address = "127.0.0.1", .port = listener.port(), .token = "right"};
  std::thread others([&] {
    Link stranger = connect("127.0.0.1", place.port, 5);
    stranger.send_message("GET / HTTP/1.1");
    WorkerPlace wrong = place;
    wrong.rank = 1;
    wrong.token = "wrong";
    EXPECT_THROW(Star({.place = wrong, .device = "cpu", .patience = 5}), Error);
    wrong.token = "right";
    Star star({.place = wrong, .device = "cpu", .patience = 20});
    EXPECT_EQ(star.broadcast(""), "in");
  });
  Star star({.place = place, .device = "cpu", .patience = 20}, std::move(listener));
  star.broadcast("in");
  others.join();
}

// One that is alive, but has not come for so long to where another waits.
TEST(MonitorDeathTest, NamesWhoIsStuck) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto hang = [](Star &star) {
    star.monitor().begin_step(3);
    if (star.rank() == 0)
      star.monitor().enter_exchange();
    std::this_thread::sleep_for(std::chrono::seconds(10));
  };
  EXPECT_EXIT(run_stars(2, hang, 1), testing::ExitedWithCode(kLostWorker),
              "rank 1 .* is stuck at step 3; there is no checkpoint yet");
}

TEST(Link, RefusesMessagesThatAreTooLong) {
  Listener listener("127.0.0.1", 0);
  std::thread other([&] { connect("127.0.0.1", listener.port(), 5).send_message("12345"); });
  std::optional<Link> link = listener.accept(5);
  ASSERT_TRUE(link);
  EXPECT_THROW(link->receive_message(4), Error);
  other.join();
}

} // namespace
} // namespace tilefuse::runtime
