#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of timm as ONNX files, for bench/networks.py: random weights, at most 288 pixels a side.

    bench/timm_networks.py FOLDER [NAME …]

Needs `pip install torch timm onnx onnxscript`. Without names it writes one network of each of a hundred families. Normalisations get
random statistics, so that they are not the identity. What PyTorch cannot export is said and passed over.
"""
import argparse
import pathlib
import sys

NAMES = """bat_resnext26ts botnet26t_256 caformer_s18 cait_xxs24_224 coat_lite_tiny coatnet_nano_rw_224 convformer_s18 convmixer_768_32
convnext_atto convnextv2_atto crossvit_tiny_240 cspdarknet53 cspresnet50 darknet53 davit_tiny deit_tiny_patch16_224 densenet121 dla34
dm_nfnet_f0 dpn68 eca_halonext26ts ecaresnet26t edgenext_x_small efficientformer_l1 efficientformerv2_s0 efficientnet_lite0
efficientnetv2_rw_t efficientvit_b0 efficientvit_m0 ese_vovnet19b_dw fastvit_t8 fbnetc_100 focalnet_tiny_srf gcresnext26ts gcvit_xxtiny
gernet_s ghostnet_100 ghostnetv2_100 ghostnetv3_100 gmixer_24_224 gmlp_ti16_224 halonet26t hardcorenas_a hgnet_tiny hgnetv2_b0
hrnet_w18_small inception_next_atto inception_resnet_v2 inception_v4 lambda_resnet26t lcnet_050 levit_128 mambaout_femto mixer_s16_224
mnasnet_100 mobilenetv3_large_100 mobilenetv3_small_050 mobilenetv4_conv_small mobilenetv4_hybrid_medium mobileone_s1 mobilevit_s
mobilevitv2_050 nasnetalarge nextvit_small nfnet_l0 pit_ti_224 pnasnet5large poolformer_s12 poolformerv2_s12 pvt_v2_b0 rdnet_tiny
regnetx_032 regnety_008 regnetz_b16 repvgg_a0 repvit_m0_9 res2net50_26w_4s resmlp_12_224 resnest26d resnet26t resnetv2_50 rexnet_100
selecsls42b semnasnet_075 sequencer2d_s seresnext26d_32x4d shvit_s1 skresnet18 spnasnet_100 starnet_s1 swiftformer_xs
swin_tiny_patch4_window7_224 swinv2_cr_tiny_224 tiny_vit_5m_224 tinynet_e tresnet_m twins_pcpvt_small visformer_tiny
vit_tiny_patch16_224 vitamin_small_224 volo_d1_224 vovnet39a xception41 xcit_nano_12_p16_224""".split()
LARGEST, USUAL = 288, 224  # pixels


def network(name):
    """A network and the side of its pictures."""
    import timm
    import torch
    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False).eval()
    for norm in model.modules():
        if isinstance(norm, torch.nn.modules.batchnorm._BatchNorm):
            norm.running_mean.normal_(0, 0.1)
            norm.running_var.uniform_(0.5, 1.5)
    side = model.default_cfg["input_size"][1]
    return model, side if side <= LARGEST else USUAL


def export(name, path):
    import torch
    model, side = network(name)
    torch.onnx.export(model, (torch.randn(1, 3, side, side),), str(path), dynamo=True, verbose=False, external_data=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        try:
            export(name, args.folder / f"{name}.onnx")
        except Exception as failure:  # PyTorch's, of any kind
            print(f"{name}: {type(failure).__name__}: {failure}", file=sys.stderr)


if __name__ == "__main__":
    main()
