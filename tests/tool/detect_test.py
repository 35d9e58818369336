#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Detectors by recipe, with points: what `run` finds is what NumPy finds in the same outputs by formulas written down here again, on drawn
numbers and on photographs; boxes lie where the photographs have them, and are drawn there."""
import json
import shutil
import struct
import unittest
import zlib

import numpy as np

from support import DATA, ROOT, ToolTest, field, float_tensor, main, node, onnx_model, read_png, value_info

RECIPES = ROOT / "examples" / "detect"
SIDE = 32
ANCHORS = [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]]


def png(pixels):
    """(row, column, channel) as a PNG."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = [(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                                          for kind, body in chunks)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cells(strides, width, height, anchors=None, up=True):
    """x, y, stride and anchor's side of every position."""
    rows = []
    for level, stride in enumerate(strides):
        columns, lines = ((-(-size // stride) if up else size // stride) for size in (width, height))
        for y in range(lines):
            for x in range(columns):
                rows += [(x, y, stride, side) for side in (anchors[level] if anchors else [1])]
    return np.array(rows, np.float64).T


def decoded(coding, v, width, height, strides=(), anchors=None, up=True):
    """Corners of boxes in pixels of the input, (position, 4)."""
    v = v.astype(np.float64)
    if coding == "corners":
        return v
    if coding == "centers":
        centre, size = v[:, :2], v[:, 2:]
    else:
        x, y, stride, side = cells(strides, width, height, anchors, up)
        cell, stride = np.stack([x, y], 1), stride[:, None]
        if coding == "grid":
            centre, size = (cell + v[:, :2]) * stride, np.exp(v[:, 2:]) * stride
        if coding == "cell":
            centre, size = (cell + np.tanh(v[:, :2])) * stride, sigmoid(v[:, 2:]) * [width, height]
        if coding == "anchors":
            centre = (cell + 0.5) * stride + v[:, :2] * 0.1 * side[:, None]
            size = side[:, None] * np.exp(0.2 * v[:, 2:])
    return np.concatenate([centre - size / 2, centre + size / 2], 1)


def suppressed(boxes, scores, threshold, overlap):
    """(class, score, box) that are kept, the best first."""
    label, best = scores.argmax(1), scores.max(1)
    kept = []
    for at in np.argsort(-best, kind="stable"):
        if best[at] < threshold:
            break
        box = boxes[at]
        for other_label, _, other in kept:
            w = min(box[2], other[2]) - max(box[0], other[0])
            h = min(box[3], other[3]) - max(box[1], other[1])
            both = max(w, 0) * max(h, 0)
            areas = (box[2] - box[0]) * (box[3] - box[1]) + (other[2] - other[0]) * (other[3] - other[1])
            if other_label == label[at] and both > overlap * (areas - both):
                break
        else:
            kept.append((label[at], best[at], box))
    return kept[:100]


class Boxes(ToolTest):
    def check(self, rows, expected, scale, size, slack=0.11):
        """Rows of `run --json` against boxes in pixels of the input."""
        self.assertEqual([row["class"] for row in rows], [label for label, _, _ in expected])
        for row, (_, score, box) in zip(rows, expected):
            self.assertAlmostEqual(row["score"], score, delta=1e-4)
            got = [row[key] for key in ("left", "top", "right", "bottom")]
            want = np.clip(np.array(box) / np.tile(scale, 2), 0, np.tile(size, 2))
            np.testing.assert_allclose(got, want, atol=slack)


class Drawn(Boxes):
    """A model whose outputs are the picture's own numbers, so that every coding is tried without a network."""

    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.pixels = np.random.default_rng(7).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
        (self.folder / "p.png").write_bytes(png(self.pixels))
        self.values = (self.pixels.transpose(2, 0, 1).astype(np.float32) / 255).reshape(-1)

    def model(self, positions, channels):
        """x[1, 3, 32, 32] seen as y[1, positions, channels], what is left over cut off."""
        shape = field(1, 2) + field(2, 7) + field(8, "to") + field(9, struct.pack("<2q", 1, -1))
        shape3 = field(1, 3) + field(2, 7) + field(8, "to3") + field(9, struct.pack("<3q", 1, positions, channels))
        ends = [field(1, 1) + field(2, 7) + field(8, name) + field(9, struct.pack("<q", value))
                for name, value in (("from", 0), ("until", positions * channels), ("axis", 1))]
        (self.folder / "m.onnx").write_bytes(onnx_model(
            [node("Reshape", ["x", "to"], ["flat"]), node("Slice", ["flat", "from", "until", "axis"], ["part"]),
             node("Reshape", ["part", "to3"], ["y"])],
            [value_info("x", [1, 3, SIDE, SIDE])], [value_info("y", [1, positions, channels])], [shape, shape3, *ends]))
        return self.values[:positions * channels].reshape(positions, channels)

    def sorted_corners(self, positions):
        """The picture changed so that the first and second of each six numbers are less than the third and fourth."""
        flat = self.pixels.transpose(2, 0, 1).reshape(-1).copy()
        rows = flat[:positions * 6].reshape(positions, 6)
        rows[:, :4] = np.concatenate([np.minimum(rows[:, :2], rows[:, 2:4]), np.maximum(rows[:, :2], rows[:, 2:4])], 1)
        (self.folder / "p.png").write_bytes(png(np.ascontiguousarray(flat.reshape(3, SIDE, SIDE).transpose(1, 2, 0))))
        return rows.astype(np.float32) / 255

    def found(self, recipe):
        (self.folder / "m.toml").write_text('scale = "1/255"\n[detect]\n' + recipe)
        return json.loads(self.succeed("run", self.folder / "m.onnx", "--device", "cpu", "--image", self.folder / "p.png",
                                       "--json"))["boxes"]

    def test_codings(self):
        cases = (("corners", 500, (), None, 'unit = "fraction"'), ("centers", 500, (), None, 'unit = "fraction"'),
                 ("grid", 336, (2, 4, 8), None, ""), ("cell", 64, (4,), None, ""),
                 ("anchors", 208, (4, 8), [[3, 5, 9], [16]], "anchors = [[3, 5, 9], [16]]"))
        for coding, positions, strides, anchors, more in cases:
            with self.subTest(coding=coding):
                (self.folder / "p.png").write_bytes(png(self.pixels))
                y = self.model(positions, 6)
                if coding == "corners":  # the left is left of the right
                    y = self.sorted_corners(positions)
                rows = self.found(f'boxes = "y 0..4"\nscores = "y 4..6"\ncoding = "{coding}"\nthreshold = 0.6\noverlap = 0.3\n{more}\n'
                                  + (f"strides = {list(strides)}\n" if strides else ""))
                values = y[:, :4] * SIDE if not strides else y[:, :4]
                boxes = decoded(coding, values, SIDE, SIDE, strides, anchors)
                expected = suppressed(boxes, y[:, 4:], 0.6, 0.3)
                self.assertGreater(len(expected), 5)
                self.check(rows, expected, (1, 1), (SIDE, SIDE), slack=1e-3)

    def test_object_sigmoid_and_channels_first(self):
        y = self.model(7, 300).T  # (position, channel)
        rows = self.found('boxes = "y 0..4"\nobject = "y 6..7"\nscores = "y 4..6"\nchannels = "first"\nactivation = "sigmoid"\n'
                          'coding = "centers"\nunit = "fraction"\nthreshold = 0.4\noverlap = 0.5\n')
        boxes = decoded("centers", y[:, :4] * SIDE, SIDE, SIDE)
        expected = suppressed(boxes, sigmoid(y[:, 4:6]) * sigmoid(y[:, 6:7]), 0.4, 0.5)
        self.assertGreater(len(expected), 5)
        self.check(rows, expected, (1, 1), (SIDE, SIDE), slack=1e-3)

    def test_points_are_coded_as_places(self):
        """Three points of three numbers each, of which the last is passed over."""
        cases = (("centers", 200, (), None, 'unit = "fraction"'), ("grid", 80, (4, 8), None, ""), ("cell", 64, (4,), None, ""),
                 ("anchors", 208, (4, 8), [[3, 5, 9], [16]], "anchors = [[3, 5, 9], [16]]"))
        for coding, positions, strides, anchors, more in cases:
            with self.subTest(coding=coding):
                y = self.model(positions, 14)
                rows = self.found('boxes = "y 0..4"\nscores = "y 4..5"\npoints = "y 5..14"\npoint_values = 3\n'
                                  f'coding = "{coding}"\nthreshold = 0.6\noverlap = 1\n{more}\n'
                                  + (f"strides = {list(strides)}\n" if strides else ""))
                unit = 1 if strides else SIDE
                best = np.argsort(-y[:, 4], kind="stable")[:len(rows)]
                self.assertGreater(len(rows), 5)
                for k in range(3):
                    place = decoded(coding, np.concatenate([y[:, 5 + 3 * k:7 + 3 * k], y[:, :2]], 1) * unit, SIDE, SIDE, strides, anchors)
                    want = (place[:, :2] + place[:, 2:]) / 2
                    np.testing.assert_allclose([[row[f"x{k}"], row[f"y{k}"]] for row in rows], want[best], atol=1e-3)

    def test_points_alone(self):
        """The least box around them, and the points drawn."""
        y = self.model(1, 20).reshape(-1, 2) * SIDE
        row, = self.found('points = "y"\ncoding = "centers"\nunit = "fraction"\n')
        np.testing.assert_allclose([[row[f"x{k}"], row[f"y{k}"]] for k in range(10)], y, atol=1e-3)
        np.testing.assert_allclose([row[key] for key in ("left", "top", "right", "bottom")], [*y.min(0), *y.max(0)], atol=1e-3)
        self.assertEqual((row["score"], row["class"]), (1, 0))
        self.succeed("run", self.folder / "m.onnx", "--device", "cpu", "--image", self.folder / "p.png", "--output", self.folder / "d.png")
        drawn = read_png(self.folder / "d.png")
        for x, y in y[1:]:  # the label lies on the first
            self.assertEqual(drawn[min(round(y), SIDE - 1), min(round(x), SIDE - 1)].tolist(), [128, 0, 0], (x, y))

    def test_recipe_of_yolov8(self):
        """Its layout and its numbers: of 8400 positions all are empty but three, of which two are the same dog."""
        self.check_yolov8("yolov8.toml", 84, {4 + 16: .9}, {4 + 16: .8}, {4 + 2: .5})

    def test_recipe_of_yolov8_pose(self):
        rows = self.check_yolov8("yolov8_pose.toml", 56, {4: .9}, {4: .8}, {4: .5})
        self.assertEqual(sum(key.startswith("x") for key in rows[0]), 17)

    def check_yolov8(self, recipe, channels, first, again, other):
        y = np.zeros((1, channels, 8400), np.float32)
        for at, box, scores in ((7, (100, 120, 80, 60), first), (8, (101, 121, 80, 60), again), (8000, (400, 300, 50, 90), other)):
            y[0, :4, at] = box
            for channel, score in scores.items():
                y[0, channel, at] = score
        (self.folder / "v8.onnx").write_bytes(onnx_model(
            [node("ReduceMean", ["images"], ["mean"]), node("Flatten", ["mean"], ["row"]), node("Mul", ["row", "nothing"], ["zero"]),
             node("Add", ["zero", "found"], ["output0"])],
            [value_info("images", [1, 3, 640, 640])], [value_info("output0", y.shape)],
            [float_tensor("nothing", [1], [0]), float_tensor("found", y.shape, y.ravel())]))
        rows = json.loads(self.succeed("run", self.folder / "v8.onnx", "--device", "cpu", "--image", self.folder / "p.png",
                                       "--preprocess", RECIPES / recipe, "--json"))["boxes"]
        boxes = decoded("centers", y[0, :4].T, 640, 640)
        end = 5 if recipe == "yolov8_pose.toml" else channels
        expected = suppressed(boxes, y[0, 4:end].T, 0.25, 0.7)
        self.assertEqual(len(expected), 2)
        self.check(rows, expected, (20, 20), (SIDE, SIDE))
        self.assertIn(rows[0]["label"], ("dog", "person"))
        return rows

    def test_mistakes(self):
        self.model(500, 6)
        run = ("run", self.folder / "m.onnx", "--device", "cpu", "--image", self.folder / "p.png")
        good = 'boxes = "y 0..4"\nscores = "y 4..6"\n'
        for recipe, says in ((good + "treshold = 0.5", "'treshold' is not a key of [detect]; did you mean 'threshold'?"),
                             ('scores = "y 4..6"', "[detect] has no boxes"),
                             ('boxes = "yy 0..4"\nscores = "y 4..6"', "the model has no output 'yy'; did you mean 'y'?"),
                             ('boxes = "y 0..3"\nscores = "y 4..6"', "boxes are 4 channels of 'y'"),
                             ('boxes = "y 0..4"\nscores = "y 4..9"', "has no channels 4..9"),
                             (good + 'coding = "gird"', "'gird' is no coding of boxes; did you mean 'grid'?"),
                             (good + 'coding = "grid"', "coding 'grid' needs strides"),
                             (good + 'coding = "grid"\nstrides = [8]', "the strides give 16 positions of 32 x 32 pixels, the model has 500"),
                             (good + "strides = [0]", "detect.strides must be"),
                             (good + 'points = "y 1..4"', "points have 3 channels of 'y', need a multiple of point_values, 2"),
                             ('points = "y"\nboxes = "y 0..4"', "[detect] has no scores"), (good + "point_values = 1", "point_values must be"),
                             (good + "threshold = 2", "detect.threshold must be"),
                             (good + "variance = [1]", "detect.variance must be"), (good + 'unit = "mm"', "detect.unit must be")):
            with self.subTest(recipe=recipe):
                (self.folder / "m.toml").write_text("[detect]\n" + recipe + "\n")
                self.refuse(*run, says=[says])
        (self.folder / "m.toml").write_text("[detect]\n" + good)
        self.refuse(*run, self.folder / "p.png", "--output", self.folder / "two.png", says=["--output is one file, there are 2 pictures"])
        (self.folder / "labels").write_text("one\n")
        self.refuse(*run, "--labels", self.folder / "labels", says=["there are 1 labels", "has 2 classes"])

    def test_frames_are_drawn(self):
        """One box of class 0, whose colour is VOC's second."""
        self.model(500, 6)
        self.pixels[:] = 0
        self.pixels[0, :6, 0] = [64, 32, 192, 128, 255, 0]
        (self.folder / "p.png").write_bytes(png(self.pixels))
        rows = self.found('boxes = "y 0..4"\nscores = "y 4..6"\nunit = "fraction"\nthreshold = 0.9\n')
        self.assertEqual(len(rows), 1)
        left, top, right, bottom = (round(rows[0][key]) for key in ("left", "top", "right", "bottom"))
        self.assertEqual((left, top, right, bottom), (8, 4, 24, 16))
        self.succeed("run", self.folder / "m.onnx", "--device", "cpu", "--image", self.folder / "p.png", "--output",
                     self.folder / "drawn.png")
        drawn = read_png(self.folder / "drawn.png")
        np.testing.assert_array_equal(drawn[bottom - 1, left:right], np.tile([128, 0, 0], (right - left, 1)))
        np.testing.assert_array_equal(drawn[bottom:], self.pixels[bottom:])
        self.succeed("run", self.folder / "m.onnx", "--device", "cpu", "--image", self.folder / "p.png", "--output",
                     self.folder / "all")
        self.assertEqual(sorted(path.name for path in (self.folder / "all").iterdir()), ["p.png", "y.npy"])

    def test_pictures_of_one_name_have_files_of_their_own(self):
        self.model(500, 6)
        (self.folder / "m.toml").write_text('[detect]\nboxes = "y 0..4"\nscores = "y 4..6"\n')
        files = [self.folder / name for name in ("a/p_2.png", "a/p.png", "b/p.png")]
        for file in files:
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(png(self.pixels))
        self.succeed("run", self.folder / "m.onnx", "--device", "cpu", "--image", *files, "--output", self.folder / "all")
        self.assertEqual(sorted(path.name for path in (self.folder / "all").glob("*.png")), ["p.png", "p_2.png", "p_3.png"])


class Photographs(Boxes):
    """(model, recipe, photograph, what is there with its place as parts of the sides)"""
    DOG = ("dog.jpg", "dog")
    FACE = ("grace_hopper.jpg", "face", (.336, .202, .701, .556))

    def setUp(self):
        super().setUp()
        self.need_device("cpu")
        self.need_data()

    def run_recipe(self, model, recipe, photo):
        """Rows, outputs by name and the photograph's size."""
        out = self.folder / "out"
        photo = DATA / "images" / photo
        text = self.succeed("run", DATA / "models" / model / "model.onnx", "--device", "cpu", "--preprocess", RECIPES / recipe,
                            "--image", photo, "--output", out, "--json")
        outputs = {path.stem: np.load(path) for path in out.glob("*.npy")}
        height, width, _ = read_png(out / (photo.stem + ".png")).shape
        return json.loads(text)["boxes"], outputs, (width, height)

    def compare(self, rows, boxes, scores, scale, size, threshold, overlap):
        expected = suppressed(boxes, scores, threshold, overlap)
        self.assertTrue(expected)
        self.check(rows, expected, scale, size)

    def check_face(self, row, size):
        box = np.array([row[key] for key in ("left", "top", "right", "bottom")]) / np.tile(size, 2)
        true = np.array(self.FACE[2])
        both = np.prod(np.minimum(box[2:], true[2:]) - np.maximum(box[:2], true[:2]))
        union = np.prod(box[2:] - box[:2]) + np.prod(true[2:] - true[:2]) - both
        self.assertGreater(both / union, 0.6)
        self.assertEqual(row["label"], "face")

    def test_yolox(self):
        rows, outputs, size = self.run_recipe("yolox_nano", "yolox_nano.toml", "dog.jpg")
        y = outputs["output"][0]
        scale = 416 / max(size)
        self.compare(rows, decoded("grid", y[:, :4], 416, 416, (8, 16, 32)), y[:, 5:] * y[:, 4:5], (scale, scale), size, 0.3, 0.45)
        self.assertEqual(rows[0]["label"], "dog")

    def test_fastestdet(self):
        rows, outputs, size = self.run_recipe("fastestdet", "fastestdet.toml", "dog.jpg")
        y = outputs["758"][0].reshape(85, -1).T
        self.compare(rows, decoded("cell", y[:, 1:5], 352, 352, (16,)), y[:, 5:] * np.clip(y[:, :1], 0, 1),
                     (352 / size[0], 352 / size[1]), size, 0.4, 0.45)
        self.assertEqual(rows[0]["label"], "dog")

    def test_ultraface(self):
        """One export with its boxes decoded, and one without."""
        rows, outputs, size = self.run_recipe("ultraface_rfb320", "ultraface.toml", "grace_hopper.jpg")
        boxes = outputs["boxes"][0].astype(np.float64) * [320, 240, 320, 240]
        self.compare(rows, boxes, outputs["scores"][0][:, 1:], (320 / size[0], 240 / size[1]), size, 0.7, 0.3)
        self.check_face(rows[0], size)
        shutil.rmtree(self.folder / "out")
        rows, outputs, size = self.run_recipe("ultraface_slim320_simplified", "ultraface_raw.toml", "grace_hopper.jpg")
        boxes = decoded("anchors", outputs["boxes"][0], 320, 240, (8, 16, 32, 64), ANCHORS)
        self.compare(rows, boxes, outputs["scores"][0][:, 1:], (320 / size[0], 240 / size[1]), size, 0.7, 0.3)
        self.check_face(rows[0], size)

    def test_yunet(self):
        rows, outputs, size = self.run_recipe("yunet_120x160", "yunet.toml", "grace_hopper.jpg")
        boxes = decoded("anchors", outputs["loc"][:, :4], 160, 120, (8, 16, 32, 64), ANCHORS, up=False)
        scores = outputs["conf"][:, 1:] * np.clip(outputs["iou"], 0, 1)
        self.compare(rows, boxes, scores, (160 / size[0], 120 / size[1]), size, 0.6, 0.3)
        self.check_face(rows[0], size)
        eyes, nose, mouth = [rows[0][key] for key in ("y0", "y1")], rows[0]["y2"], [rows[0][key] for key in ("y3", "y4")]
        self.assertLess(max(eyes), nose)
        self.assertLess(nose, min(mouth))
        for key, eye in (("0", (.455, .301)), ("1", (.600, .302))):  # in the photograph, as parts of its sides
            self.assertLess(np.hypot(rows[0]["x" + key] / size[0] - eye[0], rows[0]["y" + key] / size[1] - eye[1]), .03)


if __name__ == "__main__":
    main()
