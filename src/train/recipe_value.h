// SPDX-License-Identifier: Apache-2.0
// All of a training run as a value; recipe.h has its text and what is done with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::train {

struct Recipe {
  std::string model; // an ONNX file
  std::uint64_t seed = 1;
  std::string precision = "f32"; // or tf32, f16, bf16

  struct Data {
    std::string train,
        test; // KIND:PATH (data/open.h), as "cifar:train_10000.bin.gz"; test may be empty
    std::vector<double> mean,
        std; // by channel: a pixel p in 0..255 becomes (p/255 - mean)/std; empty: p/255
    std::int64_t side = 0;     // pixels; 0: as the pictures are
    bool skip_damaged = false; // pictures; else the first ends the run
    int threads = 2;
    friend bool operator==(const Data &, const Data &) = default;
  } data;

  struct Augment {
    int pad_crop = 0; // pixels
    bool flip = false;
    double mixup = 0, cutmix = 0; // α of each (data/mix.h); 0: not done
    friend bool operator==(const Augment &, const Augment &) = default;
  } augment;

  struct Steps {
    std::int64_t batch = 32;
    std::int64_t lanes = 1;        // batches of a step, a power of two, that workers share
    std::string exchange = "tree"; // how workers sum (lanes/exchange.h), or library
    std::string parts = "f32";     // as what a lane's gradients are summed, or bf16
    double bucket_mb = 16;         // that are exchanged together (lanes/buckets.h)
    double memory_gb = 0;          // that training may take of the device; 0: as much as it likes
    std::int64_t epochs = 1;
    std::int64_t limit = 0;                                 // of steps; 0: none
    std::int64_t pictures() const { return batch * lanes; } // of a step
    friend bool operator==(const Steps &, const Steps &) = default;
  } steps;

  struct Parameters {
    std::vector<std::string> train{"*"}, freeze; // patterns of names; what is frozen is not trained
    std::int64_t last = 0;                       // layers with parameters that are trained; 0: all
    std::int64_t classes = 0;                    // of a new head; 0: the model's
    std::string init;                            // "kaiming": drawn anew; "": as the file has them
    std::string batch_norm = "train";            // or "frozen", "synced"
    double drop_path =
        0; // that the last residual branch is left out of a picture (data/drop_path.h)
    friend bool operator==(const Parameters &, const Parameters &) = default;
  } parameters;

  struct Optimizer {
    std::string kind = "sgd"; // or adamw, lars, lamb
    double rate = 0;          // the learning rate; 0: not said
    double momentum = 0.9;
    bool nesterov = false;
    double decay = 0;                  // of weights
    std::vector<std::string> no_decay; // patterns of names
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
    double trust = 1e-3;  // of lars: the coefficient of its rates
    double clip = 0;      // norm of all gradients; 0: not clipped
    bool sharded = false; // of several workers each keeps and updates its rows alone (ZeRO-1)
    // Whether each parameter has a rate of its own, by its norm.
    bool is_layerwise() const { return kind == "lars" || kind == "lamb"; }
    friend bool operator==(const Optimizer &, const Optimizer &) = default;
  } optimizer;

  struct Rate {
    std::string kind = "constant"; // rate.h
    double warmup_epochs = 0;
    std::vector<double> milestones; // epochs
    double factor = 0.1;
    double power = 1;
    double floor = 0;
    friend bool operator==(const Rate &, const Rate &) = default;
  } rate;

  struct Loss {
    std::string kind = "cross_entropy"; // or mse, bce
    double smoothing = 0;
    std::string teacher;        // an ONNX file whose scores are learned from too; empty: none
    double teacher_share = 0.5; // of the loss
    double temperature = 1;     // that scores are divided by, the teacher's and one's own
    friend bool operator==(const Loss &, const Loss &) = default;
  } loss;

  struct Keep {
    std::int64_t log_steps = 0;   // between rows of the log; 0: some seconds
    std::int64_t every_steps = 0; // between checkpoints; 0: at the end of each epoch
    int checkpoints = 3;
    double ema = 0;           // decay of the moving average that is judged and exported; 0: none
    bool tensorboard = false; // the log as events too (events.h)
    std::int64_t check_steps = 0; // between steps that are computed twice; 0: none is
    std::int64_t stop_after_epochs_without_gain = 0; // 0: never
    friend bool operator==(const Keep &, const Keep &) = default;
  } keep;

  friend bool operator==(const Recipe &, const Recipe &) = default;
};

} // namespace tilefuse::train
