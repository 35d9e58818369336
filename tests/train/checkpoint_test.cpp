// SPDX-License-Identifier: Apache-2.0
// Checkpoints under what machines do to them: processes killed while they write, disks that are full, files that are
// torn or of another run.
#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/durable_file.h"
#include "runtime/processes.h"
#include "train/checkpoint.h"
#include "train/files.h"

namespace tilefuse::train {
namespace {

namespace fs = std::filesystem;

// Elements depend on the step alone, so that a mixture of two would be seen.
Checkpoint checkpoint_of(std::int64_t step, std::int64_t elems = 1000) {
  Checkpoint checkpoint{.step = step};
  for (const char *name : {"a", "b"})
    checkpoint.content.tensors.emplace(
        name, tensor_of(name, DType::F32, {elems}, static_cast<double>(step)));
  checkpoint.content.metadata["epoch"] = std::to_string(step / 10);
  return checkpoint;
}

void expect_whole(const std::optional<Checkpoint> &got, std::int64_t step,
                  std::int64_t elems = 1000) {
  ASSERT_TRUE(got.has_value());
  const Checkpoint want = checkpoint_of(step, elems);
  EXPECT_EQ(got->step, step);
  EXPECT_EQ(got->content.metadata, want.content.metadata);
  for (const auto &[name, tensor] : want.content.tensors)
    ASSERT_EQ(got->content.tensors.at(name).data, tensor.data) << name << " of step " << step;
}

std::vector<std::string> names(const std::string &folder) {
  std::vector<std::string> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Checkpoint, the_newest_is_found_and_the_oldest_go) {
  const Folder folder;
  const std::string place = folder / "runs/a";
  EXPECT_FALSE(newest_checkpoint(place, nullptr).has_value());
  for (const std::int64_t step : {5, 500, 12000, 123456789})
    write_checkpoint(place, checkpoint_of(step), 2);
  EXPECT_EQ(names(place),
            (std::vector<std::string>{"step-00012000.safetensors", "step-123456789.safetensors"}));
  expect_whole(newest_checkpoint(place, nullptr), 123456789);
}

TEST(Checkpoint, damaged_ones_are_skipped_with_a_sentence) {
  const Folder folder;
  for (const std::int64_t step : {1, 2, 3, 4, 5})
    write_checkpoint(folder.path(), checkpoint_of(step), 9);
  std::string bytes = bytes_of_file(checkpoint_path(folder.path(), 5));
  write_bytes(checkpoint_path(folder.path(), 5), bytes.substr(0, bytes.size() / 2));
  bytes = bytes_of_file(checkpoint_path(folder.path(), 4));
  bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 4);
  write_bytes(checkpoint_path(folder.path(), 4), bytes);
  fs::copy_file(checkpoint_path(folder.path(), 1), checkpoint_path(folder.path(), 3),
                fs::copy_options::overwrite_existing);
  std::vector<std::string> skipped;
  expect_whole(newest_checkpoint(folder.path(), &skipped), 2);
  ASSERT_EQ(skipped.size(), 3U);
  EXPECT_NE(
      skipped[0].find(
          "step-00000005.safetensors: not a whole safetensors file: its tensors need 8000 bytes"),
      std::string::npos)
      << skipped[0];
  EXPECT_NE(skipped[1].find(
                "step-00000004.safetensors: the file was damaged or changed after it was written"),
            std::string::npos)
      << skipped[1];
  EXPECT_NE(skipped[2].find(
                "step-00000003.safetensors: a checkpoint of step 1 under the name of another step"),
            std::string::npos)
      << skipped[2];
}

TEST(Checkpoint, other_files_are_none) {
  const Folder folder;
  write_safetensors(folder / "step-00000007.safetensors", checkpoint_of(7).content);
  write_bytes(folder / "step-.safetensors", "x");
  write_bytes(folder / "step-8x.safetensors", "x");
  write_bytes(folder / "notes.txt", "x");
  std::vector<std::string> skipped;
  EXPECT_FALSE(newest_checkpoint(folder.path(), &skipped).has_value());
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_NE(skipped[0].find("not a checkpoint: its metadata lack a step or a hash"),
            std::string::npos)
      << skipped[0];
}

// A run that was resumed before a damaged checkpoint must not lose its own to it.
TEST(Checkpoint, later_ones_do_not_push_out_what_is_written) {
  const Folder folder;
  write_bytes(checkpoint_path(folder.path(), 900), "torn");
  write_bytes(checkpoint_path(folder.path(), 901), "torn");
  for (const std::int64_t step : {10, 20, 30})
    write_checkpoint(folder.path(), checkpoint_of(step), 1);
  expect_whole(newest_checkpoint(folder.path(), nullptr), 30);
  EXPECT_EQ(names(folder.path()).size(), 3U);
}

TEST(Checkpoint, unfinished_files_are_removed) {
  const Folder folder;
  write_bytes(checkpoint_path(folder.path(), 1) + std::string(kUnfinished), "half");
  write_checkpoint(folder.path(), checkpoint_of(2), 3);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"step-00000002.safetensors"}));
}

TEST(Checkpoint, a_folder_that_cannot_be_read_is_an_error) {
  const Folder folder;
  write_bytes(folder / "file", "x");
  EXPECT_EQ(error_of([&] { newest_checkpoint(folder / "file", nullptr); }),
            (folder / "file") + ": error: cannot read the folder: Not a directory");
}

// Processes are killed at any moment of a write: what was finished stays, and the newest is always whole.
TEST(CheckpointCrash, the_newest_is_whole_after_every_kill) {
  constexpr int kRounds = 100;
  constexpr int kKeep = 2;
  constexpr std::int64_t kElems = 20000;
  const Folder folder;
  std::int64_t done = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int finished = runtime::killed_writer(static_cast<unsigned>(37 * round), [&](int number) {
      write_checkpoint(folder.path(), checkpoint_of(done + number + 1, kElems), kKeep);
      return true;
    });
    ASSERT_GT(finished, 0);
    std::vector<std::string> skipped;
    const auto newest = newest_checkpoint(folder.path(), &skipped);
    ASSERT_TRUE(newest.has_value());
    EXPECT_TRUE(skipped.empty()) << skipped.front();
    EXPECT_GE(newest->step,
              done + finished); // one more may have got its name before it was counted
    ASSERT_LE(newest->step, done + finished + 1);
    expect_whole(newest, newest->step, kElems);
    done = newest->step;
  }
}

// In a process whose files cannot grow past some bytes.
template <class Body> int in_small_process(rlim_t bytes, const Body &body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CheckpointCrash, a_full_disk_is_one_sentence_and_loses_nothing) {
  const Folder folder;
  write_checkpoint(folder.path(), checkpoint_of(1), 1);
  const int result = in_small_process(4000, [&] {
    try {
      write_checkpoint(folder.path(), checkpoint_of(2), 1);
    } catch (const Error &error) {
      const std::string want =
          checkpoint_path(folder.path(), 2) + ": error: cannot write the file: File too large";
      return error.what() == want ? 0 : 1;
    }
    return 2;
  });
  EXPECT_EQ(result, 0) << "1: another sentence; 2: no error";
  expect_whole(newest_checkpoint(folder.path(), nullptr), 1);
  EXPECT_EQ(names(folder.path()), (std::vector<std::string>{"step-00000001.safetensors"}));
}

} // namespace
} // namespace tilefuse::train
